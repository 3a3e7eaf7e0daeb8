"""Generates the messages and stubs of the API from proto/ into a folder, `generated` beside this file by default.

The result is the typed package `judgecascade`; building judge-cascade-client does the same.
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
# In a source distribution the files lie beside this one.
PROTO = HERE / "proto" if (HERE / "proto").is_dir() else HERE.parent.parent / "proto"


def generate(folder: pathlib.Path) -> None:
    from grpc_tools import protoc

    files = sorted(PROTO.rglob("*.proto"))
    if not files:
        sys.exit(f"there are no .proto files in `{PROTO}`")
    folder.mkdir(parents=True, exist_ok=True)
    well_known = pathlib.Path(protoc.__file__).parent / "_proto"
    options = [
        f"--proto_path={PROTO}",
        f"--proto_path={well_known}",
        f"--python_out={folder}",
        f"--pyi_out={folder}",
        f"--grpc_python_out={folder}",
    ]
    code = protoc.main(["protoc", *options, *map(str, files)])
    if code != 0:
        sys.exit(f"protoc failed with exit code {code}")
    for package in {file.relative_to(PROTO).parent for file in files}:
        while package != pathlib.Path():
            (folder / package / "__init__.py").touch()
            (folder / package / "py.typed").touch()
            package = package.parent


if __name__ == "__main__":
    generate(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "generated")
