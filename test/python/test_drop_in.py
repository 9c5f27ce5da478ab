"""The script that runs other projects' kernels as they are, on a project of our own."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "drop_in" / "fetch.py"
HEAD = "project commit path kernel grid block lds options arguments expect"


def test_every_row_of_the_table_is_whole():
    lines = SCRIPT.with_name("drop_in.tsv").read_text().splitlines()
    assert lines[0].split("\t") == HEAD.split() and len(lines) > 60
    for line in lines[1:]:
        project, commit, path, kernel, *_ = cells = line.split("\t")
        assert len(cells) == len(HEAD.split()) and project.count("/") == 1 and len(commit) == 40 and path and kernel, line


def test_a_kernel_runs_as_it_stands_in_its_repository(tmp_path):
    project = tmp_path / "farm" / "me" / "mine"
    (project / "deep").mkdir(parents=True)
    (project / "deep" / "by.h").write_text("#define BY 3\n")
    (project / "deep" / "scale.cpp").write_text('#include "by.h"\ntemplate <class T> __global__ void scale(T* x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= BY; }\n')
    git = lambda *a: subprocess.run(["git", "-C", str(project), "-c", "user.name=n", "-c", "user.email=e", *a], check=True, capture_output=True, text=True).stdout  # noqa: E731
    git("init", "--quiet")
    git("add", "-A")
    git("commit", "--quiet", "-m", "all")
    commit = git("rev-parse", "HEAD").strip()
    row = lambda kernel, expect: ["me/mine", commit, "deep/scale.cpp", kernel, "1", "64", "", "", "f32[64]=arange 32", expect]  # noqa: E731
    table = [HEAD.split(), row("scale<float>", "a0 = np.where(np.arange(64) < 32, 3 * a0, a0)"), row("scale<float>", "a0 = 4 * a0"), row("nothing<float>", "")]
    (tmp_path / "table.tsv").write_text("\n".join("\t".join(cells) for cells in table) + "\n")
    done = subprocess.run([sys.executable, SCRIPT, tmp_path / "farm", "--table", tmp_path / "table.tsv"], capture_output=True, text=True, timeout=300)
    lines = done.stdout.splitlines()
    assert done.returncode == 2 and lines[-1] == "1 as they are, 2 not", done.stdout + done.stderr
    assert lines[1].endswith("yes, right") and "no: Not equal" in lines[2] and "no kernel 'nothing<float>'" in lines[3]
