//! Stubs for the imports of a JavaScript host, for modules that were built to run beside JavaScript and do without it.
//!
//! Without JavaScript there are no JavaScript values, so a handle of the module's own values can be the value itself.

/// What a stub does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stub {
    /// Gives its argument back: a handle is made from, or turned into, a value.
    Identity,
    /// Gives zeros.
    Zero,
    /// Ends the module: going on without JavaScript would be wrong.
    Forbidden,
}

/// The stub for an import, or None if it is no import of a JavaScript host.
pub fn stub(module: &str, name: &str) -> Option<Stub> {
    match module {
        "canonical_abi" if name.starts_with("resource_new_") || name.starts_with("resource_get_") => {
            Some(Stub::Identity)
        }
        "canonical_abi" => Some(Stub::Zero),
        "rb-js-abi-host" if name.starts_with("rb_wasm_throw") => Some(Stub::Forbidden),
        "rb-js-abi-host" => Some(Stub::Zero),
        _ => None,
    }
}

/// What a forbidden import says.
pub fn forbidden(name: &str) -> String {
    format!("the module called {name}, which only a JavaScript host can answer")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_imports_of_ruby() {
        assert_eq!(stub("canonical_abi", "resource_new_rb-abi-value"), Some(Stub::Identity));
        assert_eq!(stub("canonical_abi", "resource_drop_js-abi-value"), Some(Stub::Zero));
        assert_eq!(stub("rb-js-abi-host", "global-this: func() -> handle<js-abi-value>"), Some(Stub::Zero));
        let rewind = "rb_wasm_throw_prohibit_rewind_exception";
        assert_eq!(stub("rb-js-abi-host", rewind), Some(Stub::Forbidden));
        assert_eq!(stub("env", "x"), None);
    }
}
