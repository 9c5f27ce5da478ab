"""Facts that rows.py cannot read from operand fields: how each operand's bits are interpreted (from the mnemonic) and
the flags later stages need. Sources: RDNA3 ISA document, chapters 4 to 12 and 16; CDNA3 ISA document, chapters 4 to 12.
A family's module adds its own mnemonics in SPECIAL and NOT_ON_SILICON."""

import re

import tables

NARROW = {"i24": "i32", "u24": "u32", "i8": "i32", "u8": "u32", "i4": "i32", "u4": "u32", "b8": "b32"}
NAMES = ("f16", "f32", "f64", "bf16", "i16", "i32", "i64", "u16", "u32", "u64", "b16", "b32", "b64", "b96", "b128")
VGPR, AGPR = 1, 16
BY_WIDTH = {1: "b32", 2: "b64", 3: "b96", 4: "b128", 8: "b256", 16: "b512", 32: "b1024"}

# Words of CDNA's memory mnemonics, which name no type; atomics have the signedness.
MEMORY_TYPES = {
    "ubyte": "u32",
    "sbyte": "i32",
    "ushort": "u16",
    "sshort": "i16",
    "byte": "b32",
    "short": "b16",
    "smin": "i",
    "smax": "i",
    "umin": "u",
    "umax": "u",
    "add": "u",
    "sub": "u",
    "inc": "u",
    "dec": "u",
}

# mnemonic pattern -> destination type, source types ($1.. are groups; the last source type repeats)
SPECIAL = [
    (r"v_(?:lsh[lr]|ash[r])rev_([bi])16", "$116", "u16 $116"),
    (r"v_(?:lsh[lr]|ash[r])rev_([bi]\d\d)", "$1", "u32 $1"),
    (r"v_dual_lshlrev_b32", "b32", "u32 b32"),
    (r"s_(?:lsh[lr]|ashr|bfe)_([biu]\d\d)", "$1", "$1 u32"),
    (r"s_bfm_(b\d\d)", "$1", "u32"),
    (r"v_bfe_i32", "i32", "i32 u32"),
    (r"v_bfm_b32", "b32", "u32"),
    (r"v_align(?:bit|byte)_b32", "b32", "b32 b32 u32"),
    (r"v_ldexp_f16", "f16", "f16 i16"),
    (r"v_ldexp_(f\d\d)", "$1", "$1 i32"),
    (r"v_cmpx?_class_f16", "lanes", "f16 b16"),
    (r"v_cmpx?_class_(f\d\d)", "lanes", "$1 b32"),
    (r"v_cmpx?_\w+_(\w\d\d)", "lanes", "$1"),
    (r"v_trig_preop_f64", "f64", "f64 u32"),
    (r"v_mad_([ui]64)_([ui]32)", "$1 lanes", "$2 $2 $1"),
    (r"v_mad_([ui]32)_([ui]16)", "$1", "$2 $2 $1"),
    (r"v_(?:sad|msad)_(?:hi_)?u(?:8|16)", "u32", "b32 b32 u32"),
    (r"v_lerp_u8", "b32", "b32"),
    (r"v_m?qsad_pk_u16_u8", "b64", "b64 b32 b64"),
    (r"v_mqsad_u32_u8", "b128", "b64 b32 b128"),
    (r"v_cvt_pk_u8_f32", "b32", "f32 u32 b32"),
    (r"v_cvt_pk_(?:norm_|rtz_)?[fiu]16_(\w\d\d)", "pk16", "$1"),
    (r"v_pack_b32_f16", "b32", "f16"),
    (r"v_sat_pk_u8_i16", "b16", "pk16"),
    (r"v_pk_\w+", "pk16", "pk16"),
    (r"v_(?:dual_)?dot2(?:acc)?_f32_b?f16", "f32", "pk16 pk16 f32"),
    (r"v_dot2_(b?f16)_b?f16", "$1", "pk16 pk16 $1"),
    (r"v_dot[48]_([iu]32)_\w+", "$1", "b32 b32 $1"),
    (r"v_fma_mix(?:lo|hi)_f16", "f16", "f32"),
    (r"v_fma_mix_f32", "f32", "f32"),
    (r"v_interp_p10_(?:rtz_)?f16_f32", "f32", "f16 f32 f16"),
    (r"v_interp_p2_(?:rtz_)?f16_f32", "f16", "f16 f32 f32"),
    (r"v_(?:readlane|writelane)_b32", "b32", "b32 u32"),
    (r"v_(?:mbcnt_..|bcnt)_u32_b32", "u32", "b32 u32"),
    (r"v_cvt_f32_ubyte\d|v_cvt_off_f32_i4", "f32", "b32"),
    (r"v_(?:dual_)?cndmask_(b\d\d)", "$1", "$1 $1 lanes"),
    (r"v_\w+_co_(?:ci_)?u32", "u32 lanes", "u32 u32 lanes"),
    (r"v_div_scale_(f\d\d)", "$1 lanes", "$1"),
    (r"s_bitcmp[01]_(b\d\d)", "", "$1 u32"),
    (r"s_bitset[01]_(b\d\d)", "$1", "u32"),
    (r"s_pack_.._b32_b16", "b32", "b32"),
    (r"s_sext_i32_\w+", "i32", "b32"),
    (r"s_(?:version|waitcnt\w*|subvector_loop_\w+)", "b32", "b32"),
]
SCC_WRITERS = (
    r"s_(add|sub|addc|subb|absdiff|min|max|and|or|xor|nand|nor|xnor|and_not1|or_not1|andn2|orn2|bfe|lshl|lshr|ashr|not|"
    r"quadmask|wqm|abs)_[biu]\d\d|s_lshl\d_add_u32|s_bcnt[01]_\w+|s_\w+_(saveexec|wrexec)_b\d\d|s_cmp\w*|"
    r"s_bitcmp\w+|s_addk_i32|s_(add|sub)k?_co_(ci_)?[iu]32|s_barrier_(signal_isfirst|leave)"
)
SCC_READERS = r"s_(addc|subb|add_co_ci|sub_co_ci)_u32|s_cselect_\w+|s_cmovk?_\w+|s_cbranch_scc\d"
BRANCHES = r"s_(branch|cbranch_\w+|setpc_b64|swappc_b64|call_b64|rfe_\w+|subvector_loop_\w+)"
TRANSCENDENTAL = r"v_(?:s_)?(exp|log|rcp|rcp_iflag|rsq|sqrt|sin|cos)_(legacy_)?f\d\d"
CARRY_IN = r"v_\w+_co_ci_|v_(addc|subb|subbrev)_co_"
GRAPHICS_ONLY = r"ds_(bvh|ordered|add_gs|sub_gs)\w*|v_screen_partition\w*"
MEMORY_FORMATS = tables.formats("memory")


def select(name, forms):
    """Drops what belongs to a format nested in this one's opcode space."""
    limit = {"SOP2": 96, "SOPK": 29, "VOP2": 62, "VOP3": 0x380, "VOP3SD": 0x380}.get(name, 1 << 16)
    prefix = {"FLAT": "flat_", "SCRATCH": "scratch_", "GLOBAL": "global_"}.get(name, "")
    kept = [f for f in forms if f.opcode < limit and f.mnemonic.startswith(prefix) and f.mnemonic != "v_illegal"]
    if name in ("VOP3P", "MFMA"):
        return [f for f in kept if bool(re.match(r"v_s?mfma", f.mnemonic)) == (name == "MFMA")]
    scalar_dst = [f for f in kept if re.match(r"v_(div_scale|\w+_co_(ci_)?u32|mad_(co_)?[ui]64)", f.mnemonic)]
    if name == "VOP3SD":
        return scalar_dst
    return [f for f in kept if f not in scalar_dst] if name == "VOP3" else kept


def expand(template, match):
    return [re.sub(r"\$(\d)", lambda m: match[int(m[1])], part) for part in template.split()]


def mnemonic_types(target, mnemonic, dst_count, src_count):
    for pattern, dst, src in target.SPECIAL + SPECIAL:
        match = re.fullmatch(pattern, mnemonic)
        if match:
            dst, src = expand(dst, match), expand(src, match)
            return dst, (src + [src[-1]] * 4)[:src_count]
    tokens = [NARROW.get(t, t) for t in mnemonic.split("_")]
    tokens = [t for t in tokens if t in NAMES]
    if not tokens:
        assert dst_count + src_count == 0, mnemonic
        return [], []
    return [tokens[0]] * dst_count, [tokens[-1]] * src_count


def check(mnemonic, type_name, dwords):
    assert tables.DWORDS[type_name] == dwords or type_name == "lanes", f"{mnemonic}: {type_name} has {dwords} dwords"


def kind_name(kinds):
    """Letters of what an operand may be: VGPR, SGPR, inline constant, literal, AGPR; A for all but the last."""
    return "A" if kinds == 15 else "".join(letter for bit, letter in enumerate("VSCLG") if kinds >> bit & 1)


def is_matrix(mnemonic):
    return re.match(r"v_s?(wmm|mfm)", mnemonic)


def alu_operands(target, name, form):
    m, operands = form.mnemonic, form.operands
    sources = [f for f in ("src0", "src1", "src2") if f in operands]
    dst_fields = [f for f in ("vdst", "sdst") if f in operands]
    if is_matrix(m):
        return matrix_operands(name, form, sources)
    dst_types, src_types = mnemonic_types(target, m, len(dst_fields), len(sources))
    for field, kind in list(zip(dst_fields, dst_types)) + list(zip(sources, src_types)):
        check(m, kind, operands[field][1])
    dst = [({"v": "V", "s": "S", "a": "G"}[operands[f][0]], t) for f, t in zip(dst_fields, dst_types)]
    src = [
        ("S" if t == "lanes" else "G" if operands[f][0] == "a" else kind_name(form.kinds[f]), t)
        for f, t in zip(sources, src_types)
    ]
    return implicit_operands(name, m, dst, src, dst_types, src_types)


def matrix_operands(name, form, sources):
    """MFMA takes accumulation registers for all but the index of a sparse product."""
    either, sparse = AGPR if name == "MFMA" else 0, form.mnemonic.startswith("v_smfmac")
    src = [
        (kind_name(form.kinds[f] | (0 if sparse and f == "src2" else either)), BY_WIDTH[form.operands[f][1]])
        for f in sources
    ]
    return [(kind_name(VGPR | either), BY_WIDTH[form.operands["vdst"][1]])], src


def implicit_operands(name, m, dst, src, dst_types, src_types):
    if "cmpx" in m or (name == "VOPC" and "v_cmp" in m):
        dst = [("S", "lanes")]
    if name == "VOP2" and "_co_" in m:
        dst = dst + [("S", "lanes")]
    if name == "VOP2" and re.match(CARRY_IN + "|v_cndmask", m):
        src = src + [("S", "lanes")]
    if name in ("VOP2", "SOP2") and re.match(r"[sv]_(fma|mad)ak", m):
        src = src + [("L", dst_types[0])]
    if name in ("VOP2", "SOP2") and re.match(r"[sv]_(fma|mad)mk", m):
        src = [src[0], ("L", dst_types[0]), src[1]]
    if name == "VOPD":
        dst = [("V", dst_types[0] if dst_types else src_types[0])]
    if name == "SOPK":
        if re.match(r"s_(cmpk|waitcnt|setreg_b32|cbranch_i_fork)", m):
            dst, src = [], [("S", d[1]) for d in dst]
        if m == "s_setreg_imm32_b32":
            src = [("L", "b32")]
    return dst, src


def memory_data(m, width):
    """Type of a load's, store's or atomic's data."""
    token = [NARROW.get(t, t) for t in m.split("_") if t in NAMES or t in NARROW]
    if "_pk_" in m:
        return "pk16"
    if "d16" in m and width == 1:
        return "b32" if re.search("format_(d16_)?xy", m) else "b16"
    if token and tables.DWORDS[token[-1]] == width:
        return token[-1]
    for kind in [MEMORY_TYPES[word] for word in m.split("_") if word in MEMORY_TYPES]:
        if len(kind) > 1 and width == 1:
            return kind
        if len(kind) == 1 and "atomic" in m:
            return kind + str(32 * width)
    return BY_WIDTH[width]


def memory_operands(name, form, fmt):
    m, ops = form.mnemonic, form.operands
    kind = "VG" if "acc" in form.mods else "V"
    if name == "SMEM":
        return scalar_memory(m, ops)
    if name == "DS":
        return lds_operands(m, ops, kind)
    data = [(kind, memory_data(m, ops[f][1])) for f in ("vdst", "vdata") if f in ops]
    returned = [(kind, memory_data(m, ops["vdata"][1] // 2))] if "cmpswap" in m else data
    if name in ("MUBUF", "MTBUF"):
        if "srsrc" not in ops:
            return [], []
        address = [("V", "u32"), ("S", "b128"), ("S" if fmt.words == 3 else "SC", "u32")]
        if "atomic" in m:
            return returned, address + data
        return ([], address + data) if "store" in m else (data, address)
    if not ops:  # cache control
        return [], []
    vaddr = [] if "addtid" in m else [("V", "u32" if name == "SCRATCH" else "b64")]
    saddr = [] if name == "FLAT" else [("S", "u32" if name == "SCRATCH" else "b64")]
    if "atomic" in m:
        return returned, vaddr + data + saddr
    return ([], vaddr + data + saddr) if "store" in m else (data, vaddr + saddr)


def scalar_memory(m, ops):
    """Loads: sdata = {sbase, soffset}; stores and atomics: {sbase, soffset, sdata}, atomics return to sdata
    with glc.
    """
    data = [("S", BY_WIDTH[ops["sdst"][1]])] if "sdst" in ops else []
    if "src0" not in ops:
        return data, [("S", "u32")] if "pc_rel" in m else []
    address = [("S", BY_WIDTH[ops["src0"][1]]), ("S", "u32")]
    if "atomic" in m:
        half = BY_WIDTH[ops["sdst"][1] // 2] if "cmpswap" in m else data[0][1]
        return [("S", half)], address + data
    return ([], address + data) if "store" in m else (data, address)


def lds_operands(m, ops, kind):
    dst = [(kind, memory_data(m, ops["vdst"][1]))] if "vdst" in ops else []
    src = []
    for field in ("src0", "src1", "src2"):
        if field in ops:
            address = field == "src0" and "gws" not in m and ops[field][1] == 1
            src.append(("V", "u32") if address else (kind, memory_data(m, ops[field][1])))
    return dst, src


def flags(target, name, form):
    m, cdna = form.mnemonic, tables.is_cdna(target.FAMILY)
    memory, carry_in = name in MEMORY_FORMATS, name == "VOP2" and re.match(CARRY_IN, m)
    checks = {
        "kMemory": memory,
        "kStore": memory
        and ("store" in m and "storexchg" not in m and "cmpstore" not in m or m.startswith("ds_write")),
        "kAtomic": "atomic" in m
        or (
            name == "DS"
            and re.match(
                r"ds_(r?sub|add|pk_add|cond_sub|inc|dec|min|max|and|or|xor|mskor|cmpstore|storexchg|wrap|condxchg32|append|consume|"
                r"cmpst|wrxchg2?|wrxchg2st64)_|ds_(append|consume)",
                m,
            )
            and "gs_reg" not in m
        ),
        "kBranch": re.fullmatch(BRANCHES, m),
        "kTrans": re.fullmatch(TRANSCENDENTAL, m),
        "kMatrix": is_matrix(m),
        "kWave64": form.wave64,
        "kRdna35": form.later,
        "kReadsVcc": carry_in
        or (name in ("VOP2", "VOPD") and "cndmask" in m)
        or re.match(r"v_div_fmas|s_cbranch_vcc", m),
        "kWritesVcc": (name == "VOP2" and "_co_" in m) or (name == "VOPC" and (cdna or m.startswith("v_cmp_"))),
        "kReadsScc": re.fullmatch(SCC_READERS, m),
        "kWritesScc": re.fullmatch(SCC_WRITERS, m) and name.startswith("SOP"),
        "kWritesExec": "cmpx" in m or "saveexec" in m or "wrexec" in m or "subvector_loop" in m,
        "kTrue16": re.search(r"v\d+\.[lh]", form.text),
        "kGraphics": name in tables.formats("graphics") or re.match(GRAPHICS_ONLY, m),
        "kNotOnSilicon": re.fullmatch(target.NOT_ON_SILICON, m),
        "kOneScalar": not cdna and re.fullmatch(r"v_(lshlrev_b|lshrrev_b|ashrrev_i)64", m),
        "kLiteral": re.search(r"(fma|mad)[am]k", m) or "imm32" in m,
        "kMix": m.startswith("v_fma_mix"),
        "kLiteralSecond": name == "VOPD" and "fmamk" in m,
        "kImmediateFirst": m.startswith("s_setreg"),
        "kPrefetch": name == "SMEM" and "prefetch" in m,
        "kProbe": name == "SMEM" and m.startswith("s_atc_probe"),
    }
    return " | ".join(flag for flag, on in checks.items() if on) or "0"


def modifiers(names):
    words = []
    for group in ("neg", "abs", "op_sel", "op_sel_hi", "neg_hi"):
        bits = sum(1 << int(m[len(group) :]) for m in names if re.fullmatch(group + r"\d", m))
        if bits:
            words.append(f"{group}({bits})")
    order = (
        "clamp",
        "omod",
        "simm",
        "message",
        "offset",
        "two_offsets",
        "cache",
        "glc",
        "slc",
        "dlc",
        "tfe",
        "gds",
        "gds_only",
        "dpp",
        "sc1",
        "lds",
        "sdwa",
        "matrix",
    )
    return " | ".join(words + [m for m in order if m in names]) or "0"


def accepted(form):
    m, mods = form.mnemonic, set(form.mods)
    with_source = "src0" in form.operands
    extra = {
        "dpp": form.dpp and with_source,
        "sdwa": form.sdwa and with_source,
        "message": "sendmsg_rtn" in m,
        "gds_only": form.text.endswith(" gds") and "gds" not in mods,
        "two_offsets": re.search("2addr|^ds_(read2|write2|wrxchg2)", m),
        "simm": m == "s_set_gpr_idx_on",
        "lds": m == "buffer_store_lds_dword",
        "matrix": "cbsz" in mods,
    }
    if "cbsz" in mods and re.search("_f64_.*_f64$", m):
        mods |= {f"neg{i}" for i in range(3)}  # in the place of blgp
    return mods | {modifier for modifier, on in extra.items() if on}


def row(target, name, form, fmt):
    if name in tables.formats("graphics"):
        dst, src = [], []
    elif name in MEMORY_FORMATS:
        dst, src = memory_operands(name, form, fmt)
    else:
        dst, src = alu_operands(target, name, form)

    def spell(operands):
        return ", ".join(f"{kind}({type_name})" for kind, type_name in operands)

    return (
        f"{form.mnemonic}, {name}, {form.opcode + fmt.first_opcode:#x}, ({spell(dst)}), ({spell(src)}), "
        f"{flags(target, name, form)}, {modifiers(accepted(form))}, {modifiers(form.ignored - {'simm', 'lds'})}"
    )
