"""The encodings of CDNA2 and CDNA3 (CDNA3 ISA, chapter 13), as rows.py fills them in. Probes cover operands that only
these families have: accumulation registers, sub-dword addressing, DPP without DPP8."""

from encoding import DS_FIELDS, FLAT_FIELDS, SCALAR, VDST, VOP3_SOURCES, Field, Format, vector
from rows import base_name, disassemble

MARKER = 0xBF820000  # s_branch, whose 16-bit target tells candidates apart
BUFFER = [
    Field("vdata", 40, 8, "v", 64),
    Field("offen", 12, 1, "flag", 1),
    Field("lds", 16, 1, "flag", 1),
    Field("vaddr", 32, 8, "v", 16),
    Field("srsrc", 48, 5, "s", 8, 4),
    Field("soffset", 56, 8, "s", 4),
]
BUFFER_MODS = {"offset": 3, "glc": 14, "lds": 16, "acc": 55}


def flat(segment, fields, mods=None):
    mods = {"offset": 3, "glc": 16, "slc": 17, "sc1": 25, "acc": 55, **(mods or {})}
    return Format(0xDC000000 | segment << 14, 18, 7, fields, mods, 2)


def formats(family):
    scratch = [Field("sve", 13, 1, "flag", 1)] if family == "cdna3" else []
    lds = {} if family == "cdna3" else {"lds": 13}
    result = {
        **SCALAR,
        "SMEM": Format(
            0xC0000000,
            18,
            8,
            [Field("sdst", 6, 7, "s", 64), Field("src0", 0, 6, "s", 16, 2), Field("imm", 17, 1, "flag", 1)],
            {"offset": 34, "glc": 16},
            2,
        ),
        **vector(vop3=0xD0000000, vop3p=0xD3800000),
        "DS": Format(
            0xD8000000, 17, 8, [*DS_FIELDS, Field("gds", 16, 1, "flag", 1)], {"offset": 3, "gds": 16, "acc": 25}, 2
        ),
        "MUBUF": Format(0xE0000000, 18, 7, BUFFER, {**BUFFER_MODS, "sc1": 15, "slc": 17}, 2),
        "MTBUF": Format(
            0xE8000000 | 1 << 19,
            15,
            4,
            BUFFER[:2] + BUFFER[3:],
            {k: v for k, v in {**BUFFER_MODS, "sc1": 53, "slc": 54}.items() if k != "lds"},
            2,
        ),
        "MIMG": Format(0xF0000000, 18, 7, [], {}, 2),
        "FLAT": flat(0, FLAT_FIELDS),
        "SCRATCH": flat(1, FLAT_FIELDS + [Field("saddr", 48, 7, "off", 8)] + scratch, lds),
        "GLOBAL": flat(2, FLAT_FIELDS + [Field("saddr", 48, 7, "off", 8)], lds),
        "MFMA": Format(
            0xD3800000,
            16,
            7,
            [VDST, *VOP3_SOURCES],
            {"cbsz": 8, "abid": 11, "acc_cd": 15, "acc0": 59, "acc1": 60, "blgp": 61},
            2,
        ),
    }
    if family == "cdna3":
        del result["MIMG"]  # MI300 has no image instructions
    return result


# Image instructions need a dmask to be valid at all; only their names are wanted.
MIMG_FILLINGS = [
    low | high << 32
    for low in (15 << 8 | 1 << 12, 1 << 8 | 1 << 12, 15 << 8)
    for high in (2 | 8 << 8 | 1 << 16 | 2 << 21, 2 | 8 << 8 | 1 << 16)
]
# Mnemonics whose operands operands.py cannot tell from their words (CDNA3 ISA, chapter 12).
SPECIAL = [
    (r"s_cbranch_g_fork", "", "b64"),
    (r"s_cbranch_i_fork", "b64", "b64"),
    (r"s_rfe_restore_b64", "", "b64 b32"),
    (r"s_(?:set_gpr_idx_(?:idx|on)|setvskip|cbranch_join)", "", "b32"),
    (r"v_readfirstlane_b32", "b32", "b32"),
    (r"v_cvt_pkaccum_u8_f32", "b32", "f32 u32"),
    (r"v_cvt_pk_[fb][fp]8_f32", "b32", "f32"),
    (r"v_cvt_sr_[fb][fp]8_f32", "b32", "f32 b32"),
    (r"v_cvt_f32_[fb][fp]8", "f32", "b32"),
    (r"v_cvt_pk_f32_[fb][fp]8", "pk32", "b32"),
    (r"v_cvt_pk(?:norm_|rtz_)[fiu]16_(\w\d\d)", "pk16", "$1"),
    (r"v_pk_\w+_[fb]32", "pk32", "pk32"),
    (r"v_dot2c_([fi]32)_\w16", "$1", "pk16"),
    (r"v_dot[48]c_i32_\w\d", "i32", "b32"),
    (r"v_dot2_([iu]32)_\w16", "$1", "pk16 pk16 $1"),
    (r"v_lshl_add_u64", "u64", "u64 u32 u64"),
    (r"v_ff(?:bh|bl)_(\w\d\d)", "$1", "$1"),
    (r"v_accvgpr_\w+", "b32", "b32"),
]
COUNTERS = {
    "scalar": "lgkmcnt",
    "local": "lgkmcnt",
    "load": "vmcnt",
    "store": "vmcnt",
    "sample": "vmcnt",
    "bvh": "vmcnt",
}
BRANCH = 16  # clocks until the next instruction of the wave
SDWA_WORD = 16 | 6 << 8 | 6 << 16
ROW_NEWBCAST, ROW_SHR = 0x150, 0x111  # 64-bit operations know the first DPP control only


def probe_dpp(target, name, fmt, forms):
    """Which instructions take DPP and SDWA, and the source modifiers, clamp and omod of those words."""
    if name not in ("VOP1", "VOP2", "VOPC"):
        return
    cleared = [form.value & ~0x1FF for form in forms]
    dpp = [value | 0xFA | (16 | ROW_NEWBCAST << 8 | 0xFF << 24) << 32 for value in cleared]
    for form, answer in zip(forms, disassemble(target, dpp, 2)):
        form.dpp = accepted(form, answer)
    second = 0 if name == "VOP1" else 6 << 24
    dst_sel = 6 << 8 if name == "VOPC" else 0
    sdwa = [value | 0xF9 | (SDWA_WORD - dst_sel + second) << 32 for value in cleared]
    for form, answer in zip(forms, disassemble(target, sdwa, 2)):
        form.sdwa = accepted(form, answer)
    trials = []
    for form, with_dpp, with_sdwa in zip(forms, dpp, sdwa):
        for bit, modifier in ((20, "neg0"), (21, "abs0"), (22, "neg1"), (23, "abs1")):
            if form.dpp:
                trials.append((form, "dpp", modifier, with_dpp ^ 1 << 32 + bit))
        for bit, modifier in (
            (20, "neg0"),
            (21, "abs0"),
            (28, "neg1"),
            (29, "abs1"),
            (19, "sext0"),
            (27, "sext1"),
            (13, "clamp"),
            (14, "omod"),
        ):
            if form.sdwa and not (name == "VOPC" and modifier in ("clamp", "omod")):
                trials.append((form, "sdwa", modifier, with_sdwa ^ 1 << 32 + bit))
    taken = {}
    for (form, kind, modifier, _), answer in zip(trials, disassemble(target, [value for *_, value in trials], 2)):
        if not accepted(form, answer):
            continue
        mark = {"neg": "-", "abs": "|", "sex": "sext", "cla": "clamp", "omo": "mul:"}[modifier[:3]]
        taken.setdefault(form.mnemonic, {}).setdefault(kind, {})[modifier] = mark in answer[0]
        (form.mods if mark in answer[0] else form.ignored).add(modifier)
    for form in forms:
        check(name, form, taken.get(form.mnemonic, {}))


def accepted(form, answer):
    return bool(answer) and base_name(answer[0].split()[0]) == form.mnemonic


def check(name, form, taken):
    """The rows say neg and abs once for both words, and an SDWA source takes sext exactly when it takes no neg."""
    shown = {kind: {m for m, on in mods.items() if on} for kind, mods in taken.items()}
    both = {m for m in shown.get("sdwa", ()) if m[:3] in ("neg", "abs")}
    if form.dpp and form.sdwa and both != shown.get("dpp", set()):
        print(f"{form.mnemonic} {name}: DPP {shown.get('dpp')}, SDWA {both}")
    if form.sdwa and "src0" in form.operands:
        for index in range(1 if name == "VOP1" else 2):
            if (f"neg{index}" in form.mods) == (f"sext{index}" in form.mods):
                print(f"{form.mnemonic} {name}: sext{index} is not the opposite of neg{index}")
