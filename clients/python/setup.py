"""Generates the messages of the API while the package is built; pyproject.toml says everything else."""

import pathlib
import shutil
import sys

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from generate import PROTO, generate


class BuildWithMessages(build_py):
    """Puts the generated package `judgecascade` beside the written one."""

    def run(self) -> None:
        super().run()
        generate(HERE / "src" if self.editable_mode else pathlib.Path(self.build_lib))


class SourceWithProto(sdist):
    """Takes `proto/` along, which lies outside of this folder."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        shutil.copytree(PROTO, pathlib.Path(base_dir) / "proto", dirs_exist_ok=True)
        shutil.copy(HERE / "generate.py", base_dir)


setup(cmdclass={"build_py": BuildWithMessages, "sdist": SourceWithProto})
