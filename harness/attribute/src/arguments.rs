//! The arguments of the attribute, checked.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Error, Expr, ExprLit, Ident, Lit, Token};

use crate::bytes;
use crate::names::{self, Kind, NAMES};

/// Calls of the builder of `plimsoll`, one an argument.
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
            let example = names::find(&name.to_string()).map_or("\"256 MiB\"", |(.., kind)| example(kind));
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
            let call = match names::find(&text) {
                None => Err(unknown(&name)),
                Some(_) if seen.contains(&text) => {
                    Err(Error::new(name.span(), format!("`{name}` is given twice: keep one of them")))
                }
                Some((_, variant, kind)) => call(&name, variant, kind, &value),
            };
            seen.push(text);
            // Every wrong argument is told in one go.
            match (call, &mut errors) {
                (Ok(call), _) => arguments.calls.push(call),
                (Err(error), Some(errors)) => errors.combine(error),
                (Err(error), none) => *none = Some(error),
            }
        }
        errors.map_or(Ok(arguments), Err)
    }
}

fn unknown(name: &Ident) -> Error {
    let help = match names::nearest(&name.to_string()) {
        Some(known) => format!("did you mean `{known}`?"),
        None => {
            let known: Vec<&str> = NAMES.iter().map(|(known, ..)| *known).collect();
            format!("there are {}", known.join(", "))
        }
    };
    Error::new(name.span(), format!("`{name}` is no argument of `#[plimsoll::test]`: {help}"))
}

fn call(name: &Ident, variant: &str, kind: Kind, value: &Expr) -> syn::Result<TokenStream> {
    // What is wrong with a value is shown at the value.
    let at = value.span();
    let variant = Ident::new(if variant.is_empty() { "_unused" } else { variant }, Span::call_site());
    Ok(match kind {
        Kind::Metric => {
            let limit = amount(name, value)?;
            quote!(.ceiling(::plimsoll::meter::Metric::#variant, #limit))
        }
        Kind::HeapBytes => {
            let limit = amount(name, value)?;
            quote!(.heap(::plimsoll::assert::HeapCounter::#variant, #limit.bytes()))
        }
        Kind::HeapCalls => {
            let count = number(name, value)?;
            quote_spanned!(at=> .heap(::plimsoll::assert::HeapCounter::#variant, #count))
        }
        Kind::Duration => {
            let time = duration(name, value)?;
            quote!(.#name(#time))
        }
        Kind::Bool => match value {
            Expr::Lit(ExprLit { lit, .. }) if !matches!(lit, Lit::Bool(_)) => {
                return Err(wrong(name, value, "no yes or no", kind));
            }
            _ => quote_spanned!(at=> .#name(#value)),
        },
    })
}

/// An expression of type `ByteSize`.
fn amount(name: &Ident, value: &Expr) -> syn::Result<TokenStream> {
    let at = value.span();
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => match bytes::parse(&text.value()) {
            Some(bytes) => Ok(quote!(::plimsoll::ByteSize::new(#bytes))),
            None => Err(Error::new(
                at,
                format!(
                    "`{}` is not an amount of bytes: write a number and a unit, such as `256 MiB`, `1.5GiB`, `2 GB` or \
                     `4096`",
                    text.value()
                ),
            )),
        },
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) if number.base10_digits() == "0" => {
            Ok(quote!(::plimsoll::ByteSize::ZERO))
        }
        Expr::Lit(ExprLit { lit: Lit::Int(_), .. }) => Err(wrong(name, value, "without a unit", Kind::Metric)),
        Expr::Lit(_) => Err(wrong(name, value, "no amount of bytes", Kind::Metric)),
        _ => Ok(quote_spanned!(at=> ::core::convert::Into::<::plimsoll::ByteSize>::into(#value))),
    }
}

/// An expression of type `u64`.
fn number(name: &Ident, value: &Expr) -> syn::Result<TokenStream> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) if number.base10_parse::<u64>().is_ok() => Ok(quote!(#value)),
        Expr::Lit(_) => Err(wrong(name, value, "no number of calls", Kind::HeapCalls)),
        _ => Ok(quote!(#value)),
    }
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
            Ok(_) => Err(Error::new(at, format!("`{name}` has to be longer than nothing"))),
            Err(error) => Err(Error::new(
                at,
                format!(
                    "`{}` is no time: {error}; write a number and a unit, such as `10 ms`, `60 s` or `5 min`",
                    text.value()
                ),
            )),
        },
        Expr::Lit(_) => Err(wrong(name, value, "no time", Kind::Duration)),
        _ => Ok(quote_spanned!(at=> #value)),
    }
}

fn wrong(name: &Ident, value: &Expr, what: &str, kind: Kind) -> Error {
    let shown = quote!(#value);
    Error::new(value.span(), format!("`{shown}` is {what}: write `{name} = {}`", example(kind)))
}

fn example(kind: Kind) -> &'static str {
    match kind {
        Kind::Metric | Kind::HeapBytes => "\"256 MiB\"",
        Kind::HeapCalls => "1000",
        Kind::Duration => "\"60 s\"",
        Kind::Bool => "true",
    }
}
