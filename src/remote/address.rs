//! [`Address`]: an address such as `s3://BUCKET/PATH`, and the store behind it.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, Checksum};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::ClientConfigKey;
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::path::Path as ObjectPath;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, ObjectStoreScheme, RetryConfig};
use url::{Host, Url};

use crate::error::RemoteError;
use crate::guard::GuardedConnector;
use crate::options::Options;

/// How long one request may take, unless the environment says otherwise: a stalled one ends sooner.
const REQUEST: &str = "300s";

/// An object store, and a place in it.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    /// The address as messages show it, without a slash at its end.
    pub url: String,
    pub store: Arc<dyn ObjectStore>,
    pub path: ObjectPath,
}

impl Address {
    /// Reads `text`, and makes a client of its store from the environment. No request is sent.
    pub fn open(text: &str, options: &Options) -> Result<Self, RemoteError> {
        let fail = |what: &str| RemoteError::Address { url: text.to_owned(), what: what.to_owned() };
        let url = Url::parse(text).map_err(|error| fail(&error.to_string()))?;
        if !url.username().is_empty() || url.password().is_some() {
            let url = format!("{}://{}", url.scheme(), url.host_str().unwrap_or_default());
            let what = "credentials in an address end up in records and logs; set them in the environment".to_owned();
            return Err(RemoteError::Address { url, what });
        }
        if url.query().is_some() || url.fragment().is_some() {
            let url = text.split(['?', '#']).next().unwrap_or_default().to_owned();
            let what = "signed addresses and fragments are not taken; use the store's own address and credentials";
            return Err(RemoteError::Address { url, what: what.to_owned() });
        }
        let (scheme, path) = ObjectStoreScheme::parse(&url).map_err(|error| fail(&error.to_string()))?;
        let store = connect(&url, &scheme, options)?;
        Ok(Self { url: text.trim_end_matches('/').to_owned(), store, path })
    }

    /// The address of `name` below this one.
    pub fn child(&self, name: &str) -> Self {
        let path = self.path.clone().join(name);
        Self { url: format!("{}/{name}", self.url), store: Arc::clone(&self.store), path }
    }

    /// The address of the folder above this one, if it is not the top of its store.
    pub fn parent(&self) -> Option<Self> {
        let (above, _) = self.path.as_ref().rsplit_once('/')?;
        let path = ObjectPath::parse(above).ok()?;
        let (url, _) = self.url.rsplit_once('/')?;
        Some(Self { url: url.to_owned(), store: Arc::clone(&self.store), path })
    }

    /// The last name of the address.
    pub fn name(&self) -> &str {
        self.path.filename().unwrap_or_default()
    }
}

fn connect(url: &Url, scheme: &ObjectStoreScheme, options: &Options) -> Result<Arc<dyn ObjectStore>, RemoteError> {
    let failed = |error| RemoteError::of(url.as_str(), error);
    let connector = || GuardedConnector { patience: options.patience };
    let timeout = |name: &str| std::env::var_os(name).is_none().then_some(ClientConfigKey::Timeout);
    Ok(match scheme {
        ObjectStoreScheme::AmazonS3 => {
            let mut builder = AmazonS3Builder::from_env()
                .with_url(url.as_str())
                .with_retry(retry(options))
                .with_http_connector(connector());
            if builder.get_config_value(&AmazonS3ConfigKey::Checksum).is_none() {
                builder = builder.with_checksum_algorithm(Checksum::SHA256);
            }
            if let Some(key) = timeout("AWS_TIMEOUT") {
                builder = builder.with_config(AmazonS3ConfigKey::Client(key), REQUEST);
            }
            let endpoint = builder.get_config_value(&AmazonS3ConfigKey::Endpoint);
            let allowed = AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp);
            let by_environment = builder.get_config_value(&allowed).is_some_and(|value| value == "true");
            if let Some(endpoint) = endpoint
                && allow_http(&endpoint, options, by_environment)?
            {
                builder = builder.with_allow_http(true);
            }
            Arc::new(builder.build().map_err(failed)?)
        }
        ObjectStoreScheme::GoogleCloudStorage => {
            let mut builder = GoogleCloudStorageBuilder::from_env()
                .with_url(url.as_str())
                .with_retry(retry(options))
                .with_http_connector(connector());
            if let Some(key) = timeout("GOOGLE_TIMEOUT") {
                builder = builder.with_config(GoogleConfigKey::Client(key), REQUEST);
            }
            // The client always allows plain HTTP for the machine's own metadata service.
            if let Some(endpoint) = builder.get_config_value(&GoogleConfigKey::BaseUrl) {
                allow_http(&endpoint, options, false)?;
            }
            Arc::new(builder.build().map_err(failed)?)
        }
        ObjectStoreScheme::MicrosoftAzure => {
            let mut builder = MicrosoftAzureBuilder::from_env()
                .with_url(url.as_str())
                .with_retry(retry(options))
                .with_http_connector(connector());
            if let Some(key) = timeout("AZURE_TIMEOUT") {
                builder = builder.with_config(AzureConfigKey::Client(key), REQUEST);
            }
            let endpoint = builder.get_config_value(&AzureConfigKey::Endpoint);
            if let Some(endpoint) = endpoint
                && allow_http(&endpoint, options, false)?
            {
                builder = builder.with_allow_http(true);
            }
            Arc::new(builder.build().map_err(failed)?)
        }
        ObjectStoreScheme::Http => {
            let allowed = allow_http(url.as_str(), options, false)?;
            let client = ClientOptions::new().with_allow_http(allowed).with_timeout(Duration::from_secs(300));
            let mut origin = url.clone();
            origin.set_path("/");
            let builder = HttpBuilder::new()
                .with_url(origin)
                .with_client_options(client)
                .with_retry(retry(options))
                .with_http_connector(connector());
            Arc::new(builder.build().map_err(failed)?)
        }
        _ => {
            let what = "this scheme is not one of an object store".to_owned();
            return Err(RemoteError::Address { url: url.to_string(), what });
        }
    })
}

/// Whether to allow plain HTTP for `endpoint`: for a server on this machine, or if explicitly allowed.
fn allow_http(endpoint: &str, options: &Options, by_environment: bool) -> Result<bool, RemoteError> {
    if !endpoint.starts_with("http://") {
        return Ok(false);
    }
    let url = Url::parse(endpoint).ok();
    let is_loopback = url.as_ref().and_then(Url::host).is_some_and(|host| match host {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(address) => IpAddr::V4(address).is_loopback(),
        Host::Ipv6(address) => IpAddr::V6(address).is_loopback(),
    });
    if is_loopback || options.allow_http || by_environment {
        Ok(true)
    } else {
        Err(RemoteError::PlainHttp { url: endpoint.to_owned() })
    }
}

fn retry(options: &Options) -> RetryConfig {
    // Pauses are drawn from between the two, which must differ.
    let max_backoff = options.longest_backoff.max(Duration::from_millis(4));
    let init_backoff = Duration::from_millis(100).min(max_backoff / 4);
    let backoff = BackoffConfig { init_backoff, max_backoff, base: 2.0 };
    RetryConfig { backoff, max_retries: options.retries, retry_timeout: Duration::from_secs(180) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Address::open(text, &Options::default()).unwrap_err().to_string()
    }

    #[test]
    fn secrets_and_plain_http_are_refused() {
        let secret = refused("https://me:hunter2@host/p");
        assert!(secret.contains("credentials in an address") && !secret.contains("hunter2"), "{secret}");
        let signed = refused("https://host/p?X-Amz-Signature=abc");
        assert!(signed.contains("signed addresses") && !signed.contains("abc"), "{signed}");
        assert!(refused("http://example.com/p").contains("--allow-http"));
        let allowed = Options { allow_http: true, ..Options::default() };
        assert!(Address::open("http://example.com/p", &allowed).is_ok());
        for local in ["http://127.0.0.1:9000/p", "http://localhost/p", "http://[::1]:80/p"] {
            assert!(Address::open(local, &Options::default()).is_ok(), "{local}");
        }
    }

    #[test]
    fn an_address_has_children_and_a_parent() {
        let address = Address::open("https://host/a/b/", &Options::default()).unwrap();
        assert_eq!((address.url.as_str(), address.name()), ("https://host/a/b", "b"));
        let child = address.child("c.pt");
        assert_eq!((child.url.as_str(), child.path.as_ref()), ("https://host/a/b/c.pt", "a/b/c.pt"));
        assert_eq!(child.parent().unwrap().path, address.path);
        assert!(Address::open("https://host/a", &Options::default()).unwrap().parent().is_none());
    }
}
