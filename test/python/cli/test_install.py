"""`cmake --install` of a build of the Python module, and programs that find_package(Strata) builds."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import strata

BUILD = Path(strata.__file__).parents[2]
pytestmark = [
    pytest.mark.emulated,
    pytest.mark.skipif(not (BUILD / "CMakeCache.txt").exists(), reason="the module is not that of a build folder"),
]

PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(app LANGUAGES CXX)
find_package(Strata REQUIRED)
add_executable(app app.cpp)
target_link_libraries(app PRIVATE Strata::strata)
add_executable(part part.cpp)
target_link_libraries(part PRIVATE Strata::strata_providers)
foreach(folder IN ITEMS @folders@)
  get_target_property(roots Strata::${folder} INTERFACE_INCLUDE_DIRECTORIES)
  get_target_property(features Strata::${folder} INTERFACE_COMPILE_FEATURES)
  if(NOT roots OR NOT "cxx_std_20" IN_LIST features)
    message(FATAL_ERROR "${folder} says neither where its headers are nor that they are C++20: ${roots} ${features}")
  endif()
endforeach()
"""
APP = """
#include <cstdio>
#include "strata/ops/tensor.h"
int main() { std::printf("%g", strata::Tensor::arange(5).sum().item().as_double()); }
"""
PART = """
#include <cstdio>
#include "strata/providers/hip_api.h"
int main() { std::printf("%s", strata::providers::entry_points()[0]); }
"""


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """The package where it was installed, and moved."""
    first, then = tmp_path_factory.mktemp("first"), tmp_path_factory.mktemp("then") / "strata"
    run("cmake", "--install", BUILD, "--prefix", first, "--component", "cpp")
    return Path(shutil.move(first, then))


def targets(prefix):
    """name -> the targets that it links, of the package's."""
    text = (next(prefix.rglob("StrataTargets.cmake"))).read_text()
    found = dict.fromkeys(re.findall(r"^add_library\(Strata::(\w+)", text, re.M), ())
    for name, body in re.findall(r"^set_target_properties\(Strata::(\w+) PROPERTIES\n(.*?)^\)", text, re.M | re.S):
        if links := re.search(r'INTERFACE_LINK_LIBRARIES "([^"]*)"', body):
            found[name] = re.findall(r"Strata::(\w+)", links[1])
    return found


def test_what_is_installed_is_what_the_package_links_and_the_module_is_made_of(prefix):
    links, reached, pending = targets(prefix), set(), ["strata"]
    while pending:
        name = pending.pop()
        if name not in reached:
            reached.add(name)
            pending += links[name]
    assert reached == set(links)
    made_of = {Path(line).name for line in run("ninja", "-C", BUILD, "-t", "inputs", "_strata").splitlines()}
    assert {path.name for path in prefix.rglob("*.a")} | {
        path.name for path in (prefix / "lib/strata").iterdir()
    } <= made_of


def test_programs_are_built_of_it_and_run(prefix, tmp_path):
    folders = " ".join(name for name in targets(prefix) if name != "strata")
    for name, text in {
        "CMakeLists.txt": PROJECT.replace("@folders@", folders),
        "app.cpp": APP,
        "part.cpp": PART,
    }.items():
        (tmp_path / name).write_text(text)
    compiler = re.search(
        r'set\(CMAKE_CXX_COMPILER "(.*)"\)', next(BUILD.glob("CMakeFiles/*/CMakeCXXCompiler.cmake")).read_text()
    )[1]
    run(
        "cmake",
        "-S",
        tmp_path,
        "-B",
        tmp_path / "build",
        "-G",
        "Ninja",
        f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_CXX_COMPILER={compiler}",
    )
    run("ninja", "-C", tmp_path / "build", "-j2")
    assert run(tmp_path / "build/app") == "10" and run(tmp_path / "build/part") == "hipGetDeviceCount"
