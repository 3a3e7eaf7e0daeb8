//! What looks like a secret, by its name or by itself.
//!
//! The check errs on the side of refusing: a reference to a variable or a file is always possible.

/// Whether a key of a judge asks for a literal secret, as other tools have it.
pub(super) fn is_key_of_a_judge(name: &str) -> bool {
    let name = letters(name);
    is_secret(&name) || name.ends_with("key")
}

/// Whether the value of a header of this name is a secret.
pub(super) fn is_header(name: &str) -> bool {
    let name = letters(name);
    is_secret(&name) || name.ends_with("key") || name.contains("auth") || name.contains("cookie")
}

/// Whether the value of any header is a secret by its form.
pub(super) fn is_in_header(value: &str) -> bool {
    let value = value.trim_start().to_ascii_lowercase();
    ["bearer ", "basic ", "sk-"]
        .iter()
        .any(|start| value.starts_with(start))
}

/// Whether what should be the name of a header is rather a key.
pub(super) fn is_like_a_key(name: &str) -> bool {
    const LONGEST_NAME: usize = 64;
    LONGEST_NAME < name.len() || is_in_header(name)
}

/// Whether a text of this name in a request is a secret; a `prompt_cache_key` is none.
pub(super) fn is_value(name: &str) -> bool {
    is_secret(&letters(name))
}

/// Whether a part of a query is a secret.
pub(super) fn is_in_query(name: &str) -> bool {
    let name = letters(name);
    is_secret(&name) || name.ends_with("key") || name == "sig"
}

fn is_secret(letters: &str) -> bool {
    [
        "apikey",
        "secret",
        "password",
        "passwd",
        "authorization",
        "credential",
        "accesskey",
    ]
    .iter()
    .any(|word| letters.contains(word))
        || letters.ends_with("token")
}

fn letters(name: &str) -> String {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_headers_that_are_keys_are_known_by_their_start() {
        for value in ["Bearer abc", "basic YTpi", "sk-live-1", " Bearer x"] {
            assert!(is_in_header(value), "{value}");
        }
        for value in ["typesafe", "bearer", "2023-06-01", "https://sk-.example"] {
            assert!(!is_in_header(value), "{value}");
        }
        assert!(is_like_a_key(&"a".repeat(65)) && is_like_a_key("sk-1"));
        assert!(!is_like_a_key("ocp-apim-subscription-key"));
    }

    #[test]
    fn names_of_secrets_are_known_by_their_words() {
        for name in [
            "api_key",
            "key",
            "apiKey",
            "token",
            "client_secret",
            "password",
        ] {
            assert!(is_key_of_a_judge(name), "{name}");
        }
        for name in [
            "x-portkey-api-key",
            "X-Auth-Token",
            "cookie",
            "cf-access-client-secret",
            "x-goog-api-key",
        ] {
            assert!(is_header(name), "{name}");
        }
        for name in [
            "x-portkey-provider",
            "http-referer",
            "x-title",
            "anthropic-version",
        ] {
            assert!(!is_header(name), "{name}");
        }
        assert!(is_value("api_key") && is_value("aws_secret_access_key"));
        assert!(!is_value("prompt_cache_key") && !is_value("max_tokens"));
        assert!(is_in_query("code_key") && is_in_query("sig") && !is_in_query("api-version"));
    }
}
