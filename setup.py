"""Builds the Python module with CMake: the target weft_python, as build/<preset> has it, and the shipped configurations beside it."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import setuptools
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).resolve().parent


class BuildWithCMake(build_ext):
    def build_extension(self, ext):
        build = pathlib.Path(self.build_temp).resolve() / "cmake"
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        subprocess.run(
            ["cmake", "-S", ROOT, "-B", build, *generator, "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_UNITY_BUILD=ON",
             "-DCMAKE_UNITY_BUILD_BATCH_SIZE=12", "-DWEFT_DEVELOPER_MODE=OFF", "-DWEFT_PYTHON=ON",
             f"-DPython3_EXECUTABLE={sys.executable}", *os.environ.get("WEFT_CMAKE_OPTIONS", "").split()], check=True)
        jobs = str(self.parallel or os.cpu_count() or 1)
        subprocess.run(["cmake", "--build", build, "--target", "weft_python", "--parallel", jobs], check=True)
        target = pathlib.Path(self.get_ext_fullpath(ext.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        [built] = (build / "python/weft").glob("_weft*.so")
        shutil.copyfile(built, target)
        shutil.copytree(ROOT / "configs", target.parent / "configs", dirs_exist_ok=True)


version = re.search(r"project\(Weft VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")).group(1)
setuptools.setup(
    version=version,
    packages=["weft"],
    package_dir={"": "python"},
    package_data={"weft": ["py.typed", "*.pyi"]},
    ext_modules=[setuptools.Extension("weft._weft", sources=[])],
    cmdclass={"build_ext": BuildWithCMake},
    zip_safe=False)
