"""The setting dump: files of what a kernel becomes on the way to machine code."""

import os

import pytest
import strata
from strata import Tensor, asm, lang, uop
from tested import TARGETS


@strata.kernel(grid=2, block=64)
def scale(out: lang.Tensor, a: lang.Tensor):
    i = lang.block_idx.x * 64 + lang.thread_idx.x
    for k in lang.range(3):
        out[i * 3 + k] = a[i * 3 + k] * 2


def dumped(folder, arch, target):
    """The stages of `scale` by name, in order, and its code."""
    with strata.config(dump=str(folder), target=target, device=f"emu:{arch}"):
        artifact = strata.compile(scale.compiled(lang.TensorSpec(384), lang.TensorSpec(384)), arch=arch, target=target)
    (own,) = sorted(os.listdir(folder))
    assert own == "scale_0"
    files = sorted(os.listdir(folder / own))
    assert [int(name.split("_")[0]) for name in files] == list(range(len(files)))
    return [(name.split("_", 1)[1], (folder / own / name).read_text()) for name in files], artifact


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arch", ["gfx1100", "gfx942"])
def test_a_kernel_leaves_a_file_a_pass_and_assembly_of_the_same_bytes(tmp_path, arch, target):
    files, artifact = dumped(tmp_path, arch, target)
    linear, lower = uop._passes()
    names = [name for name, _ in files]
    wanted = ["traced.uops", *(f"{name}.uops" for name, _ in linear)]
    if target == "asm":
        wanted += ["select.mir", *(f"{name}.mir" for name, _ in lower)]
    else:
        wanted.append("render.hip")
    assert names == [*wanted, "assembly.s"]
    texts = dict(files)
    assert uop.from_tree(texts["traced.uops"]).tree() == texts["traced.uops"]
    if target == "hip":
        assert texts["render.hip"] == artifact.source
    code = asm.assemble_instructions(texts["assembly.s"], arch)
    assert len(code) > 40 and code in artifact.code_object


def test_kernels_of_one_name_have_folders_of_their_own(tmp_path):
    with strata.config(dump=str(tmp_path), target="asm", device="emu:gfx1100"):
        for size in (64, 128):
            scale.compiled(lang.TensorSpec(384), lang.TensorSpec(384))
            (Tensor.arange(size) * 3).numpy()
        for grid in (1, 2):
            kernel = strata.kernel(scale.function, grid=grid, block=32 * grid)
            kernel(Tensor.zeros(384), Tensor.zeros(384).contiguous())[0].numpy()
    folders = os.listdir(tmp_path)
    assert {"scale_0", "scale_1"} <= set(folders) and len(folders) >= 3


def test_a_kernel_that_does_not_compile_leaves_the_error_after_its_last_stage(tmp_path):
    @strata.kernel(grid=1, block=64)
    def large(out: lang.Tensor):
        row, i = lang.shared(30000, "float32"), lang.thread_idx.x
        row[i] = 1
        lang.barrier()
        out[i] = row[i]

    with strata.config(dump=str(tmp_path), device="emu:gfx1100", target="asm"):
        with pytest.raises(strata.UsageError):
            large(Tensor.zeros(64))[0].numpy()
    files = sorted(os.listdir(tmp_path / "large_0"))
    assert files[-1].endswith("_error.txt") and files[-2].endswith("_lower_index.uops")
    assert "120000 bytes of local memory" in (tmp_path / "large_0" / files[-1]).read_text()


def test_a_folder_that_cannot_be_written_is_an_error_that_names_the_setting(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    with strata.config(dump=str(file / "below"), device="emu:gfx1100", target="asm"):
        with pytest.raises(strata.UsageError, match="the setting dump names a folder that cannot be written"):
            (Tensor.arange(77) * 5).numpy()
