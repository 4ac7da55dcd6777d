//! The arguments of the attribute, checked.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Error, Expr, ExprLit, Ident, Lit, Token};

/// The builder calls of `plimsoll`, one per argument.
#[derive(Debug, Default)]
pub struct Arguments {
    pub calls: Vec<TokenStream>,
}

struct Argument {
    name: Ident,
    value: Expr,
}

impl Parse for Argument {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name: Ident = input.parse()?;
        if !input.peek(Token![=]) {
            let example = example(&name.to_string());
            return Err(Error::new(name.span(), format!("`{name}` has no value: write `{name} = {example}`")));
        }
        input.parse::<Token![=]>()?;
        Ok(Self { name, value: input.parse()? })
    }
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let list = Punctuated::<Argument, Token![,]>::parse_terminated(input)?;
        let mut seen: Vec<String> = Vec::new();
        let mut arguments = Self::default();
        let mut errors: Option<Error> = None;
        for Argument { name, value } in list {
            let text = name.to_string();
            let call = if seen.contains(&text) {
                Err(Error::new(name.span(), format!("`{name}` is given twice: keep one of them")))
            } else {
                call(&name, &text, &value)
            };
            seen.push(text);
            // Report all wrong arguments at once.
            match (call, &mut errors) {
                (Ok(call), _) => arguments.calls.push(call),
                (Err(error), Some(errors)) => errors.combine(error),
                (Err(error), none) => *none = Some(error),
            }
        }
        errors.map_or(Ok(arguments), Err)
    }
}

/// The builder call of an argument. Any other argument is a metric, by the constants of `assert_memory!`: the compiler
/// then reports a wrong name at the name, with the ones that were probably meant, and a missing limit at the limit.
fn call(name: &Ident, text: &str, value: &Expr) -> syn::Result<TokenStream> {
    let at = value.span();
    Ok(match text {
        "timeout" | "sample_interval" => {
            let time = duration(name, value)?;
            quote!(.#name(#time))
        }
        "enforce" => match value {
            Expr::Lit(ExprLit { lit, .. }) if !matches!(lit, Lit::Bool(_)) => {
                return Err(wrong(name, value, "neither true nor false"));
            }
            _ => quote_spanned!(at=> .#name(#value)),
        },
        _ => {
            let limit = match value {
                Expr::Lit(_) => quote_spanned!(at=> const { ::plimsoll::assert::metrics::Literal(#value).checked() }),
                _ => quote_spanned!(at=> #value),
            };
            let metric = quote_spanned!(name.span()=> ::plimsoll::assert::metrics::#name);
            quote_spanned!(at=> .limit(::plimsoll::assert::metrics::LimitedTo::limited_to(#metric, #limit)))
        }
    })
}

/// An expression of type `Duration`.
fn duration(name: &Ident, value: &Expr) -> syn::Result<TokenStream> {
    let at = value.span();
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => match humantime::parse_duration(&text.value()) {
            Ok(time) if !time.is_zero() => {
                let (seconds, nanoseconds) = (time.as_secs(), time.subsec_nanos());
                Ok(quote!(::core::time::Duration::new(#seconds, #nanoseconds)))
            }
            Ok(_) => Err(Error::new(at, format!("`{name}` must be greater than zero"))),
            Err(error) => Err(Error::new(
                at,
                format!(
                    "`{}` is not a time: {error}; write a number and a unit, such as `10 ms`, `60 s` or `5 min`",
                    text.value()
                ),
            )),
        },
        Expr::Lit(_) => Err(wrong(name, value, "not a time")),
        _ => Ok(quote_spanned!(at=> #value)),
    }
}

fn wrong(name: &Ident, value: &Expr, what: &str) -> Error {
    let shown = quote!(#value);
    Error::new(value.span(), format!("`{shown}` is {what}: write `{name} = {}`", example(&name.to_string())))
}

fn example(name: &str) -> &'static str {
    match name {
        "timeout" => "\"60 s\"",
        "sample_interval" => "\"10 ms\"",
        "enforce" => "true",
        "allocations" | "reallocations" => "1000",
        _ => "\"256 MiB\"",
    }
}
