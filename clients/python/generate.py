"""Generates the messages and stubs of the API from proto/ into a folder, `generated` beside this file by default."""

import pathlib
import sys

from grpc_tools import protoc

HERE = pathlib.Path(__file__).resolve().parent
PROTO = HERE.parent.parent / "proto"


def generate(folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    files = sorted(str(file) for file in PROTO.rglob("*.proto"))
    if not files:
        sys.exit(f"there are no .proto files in `{PROTO}`")
    well_known = pathlib.Path(protoc.__file__).parent / "_proto"
    options = [
        f"--proto_path={PROTO}",
        f"--proto_path={well_known}",
        f"--python_out={folder}",
        f"--pyi_out={folder}",
        f"--grpc_python_out={folder}",
    ]
    code = protoc.main(["protoc", *options, *files])
    if code != 0:
        sys.exit(f"protoc failed with exit code {code}")


if __name__ == "__main__":
    generate(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "generated")
