//! The function that replaces the test.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Error, ItemFn, Meta, Path, Signature};

use crate::arguments::Arguments;

/// A function with the test's name and attributes that runs its body elsewhere.
pub fn expand(arguments: &Arguments, function: ItemFn) -> syn::Result<TokenStream> {
    let ItemFn { attrs, vis, sig, block, .. } = function;
    check(&attrs, &sig)?;
    let Signature { ident, output, asyncness, .. } = &sig;
    let calls = &arguments.calls;
    let should_panic = has(&attrs, |path| path.is_ident("should_panic")).then(|| quote!(.should_panic()));
    let test = (!has(&attrs, is_test)).then(|| quote!(#[::core::prelude::v1::test]));
    let run = if asyncness.is_some() { quote!(run_async(body).await) } else { quote!(run(body)) };
    // Report a panic of the runtime at the name of the test.
    let run = quote_spanned! {ident.span()=>
        ::plimsoll::assert::test(
            ::core::env!("CARGO_PKG_NAME"),
            ::core::module_path!(),
            ::core::stringify!(#ident),
        )
        #(#calls)*
        #should_panic
        .#run
    };
    Ok(quote! {
        #(#attrs)*
        #test
        #vis #asyncness fn #ident() {
            #asyncness fn body() #output #block
            #run
        }
    })
}

fn check(attributes: &[Attribute], signature: &Signature) -> syn::Result<()> {
    let refuse = |at: proc_macro2::Span, what: &str| Err(Error::new(at, what));
    if !signature.inputs.is_empty() {
        let what =
            "a test takes no arguments; with rstest, write `#[plimsoll::test(..)]` below `#[rstest]` and its cases";
        return refuse(signature.inputs.span(), what);
    }
    if !signature.generics.params.is_empty() {
        return refuse(signature.generics.span(), "a test has no type parameters");
    }
    if let Some(asyncness) = signature.asyncness
        && !has(attributes, is_test)
    {
        let what =
            "an async test needs a runtime: put `#[tokio::test]`, or that of another runtime, beside this attribute";
        return refuse(asyncness.span(), what);
    }
    for attribute in attributes {
        if attribute.path().segments.len() == 2
            && attribute.path().segments[0].ident == "plimsoll"
            && attribute.path().segments[1].ident == "test"
        {
            return refuse(attribute.span(), "this test has the attribute twice: keep one of them");
        }
    }
    Ok(())
}

fn has(attributes: &[Attribute], wanted: impl Fn(&Path) -> bool) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => wanted(path),
        Meta::List(list) => wanted(&list.path),
        Meta::NameValue(pair) => wanted(&pair.path),
    })
}

/// `#[test]` by any path, and those of runtimes, such as `#[tokio::test(flavor = "multi_thread")]`.
fn is_test(path: &Path) -> bool {
    path.segments.last().is_some_and(|segment| segment.ident == "test")
}
