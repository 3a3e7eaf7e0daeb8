# Formats the code.
fmt:
    cargo fmt

# What the compiler, clippy and rustdoc have to say.
lint:
    cargo fmt --check
    cargo clippy --all-targets --locked -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --locked

# All tests, or those whose path holds FILTER.
test FILTER="":
    cargo test --locked {{ FILTER }}

# Builds the documentation of the code.
doc:
    cargo doc --no-deps --locked

# Serves with the defaults, or with the given flags.
serve *FLAGS:
    cargo run --release --locked -- serve {{ FLAGS }}

# Shows the cascade at work, then serves until Ctrl-C.
demo *FLAGS:
    cargo run --release --locked -- demo {{ FLAGS }}

# Exactly what CI runs.
ci:
    bash .ci/run
