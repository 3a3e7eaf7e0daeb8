//! Compiles `proto/` without protoc and keeps the descriptor set for reflection.

use std::{env, error::Error, fs, path::PathBuf};

use prost::Message as _;

const FILES: [&str; 4] = ["diagnosis_service", "trace", "judgment", "error_reason"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto");
    let files = FILES.map(|name| format!("proto/judgecascade/v1/{name}.proto"));
    let descriptors = protox::compile(files, ["proto"])?;
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    fs::write(
        out.join("judgecascade.v1.binpb"),
        descriptors.encode_to_vec(),
    )?;
    tonic_prost_build::configure()
        .codec_path("crate::rpc::codec::BoundedCodec")
        .compile_fds(descriptors)?;
    Ok(())
}
