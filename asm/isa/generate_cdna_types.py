"""Operand types and flags of CDNA2 and CDNA3, as generate_types.py has them for RDNA3: what generate.py cannot read from
operand fields. Sources: CDNA3 ISA document, chapters 4 to 12."""
import re

import generate_types as common

AGPR = 16
WIDTHS = {**common.BY_WIDTH, 32: 'b1024'}
SPECIAL = [
    (r's_cbranch_g_fork', '', 'b64'),
    (r's_cbranch_i_fork', '', 'b64'),
    (r's_rfe_restore_b64', '', 'b64 b32'),
    (r's_(?:set_gpr_idx_(?:idx|on)|setvskip|cbranch_join)', '', 'b32'),
    (r'v_readfirstlane_b32', 'b32', 'b32'),
    (r'v_cvt_pkaccum_u8_f32', 'b32', 'f32 u32'),
    (r'v_cvt_pk_[fb][fp]8_f32', 'b32', 'f32'),
    (r'v_cvt_sr_[fb][fp]8_f32', 'b32', 'f32 b32'),
    (r'v_cvt_f32_[fb][fp]8', 'f32', 'b32'),
    (r'v_cvt_pk_f32_[fb][fp]8', 'pk32', 'b32'),
    (r'v_cvt_pk(?:norm_|rtz_)[fiu]16_(\w\d\d)', 'pk16', '$1'),
    (r'v_pk_\w+_[fb]32', 'pk32', 'pk32'),
    (r'v_dot2c_([fi]32)_\w16', '$1', 'pk16'),
    (r'v_dot[48]c_i32_\w\d', 'i32', 'b32'),
    (r'v_dot2_([iu]32)_\w16', '$1', 'pk16 pk16 $1'),
    (r'v_lshl_add_u64', 'u64', 'u64 u32 u64'),
    (r'v_ff(?:bh|bl)_(\w\d\d)', '$1', '$1'),
    (r'v_accvgpr_\w+', 'b32', 'b32'),
]
MEMORY_TYPES = {'ubyte': 'u32', 'sbyte': 'i32', 'ushort': 'u16', 'sshort': 'i16', 'byte': 'b32', 'short': 'b16',
                'smin': 'i', 'smax': 'i', 'umin': 'u', 'umax': 'u', 'add': 'u', 'sub': 'u', 'inc': 'u', 'dec': 'u'}
SCC_WRITERS = (r's_(add|sub|addc|subb|absdiff|min|max|and|or|xor|nand|nor|xnor|andn2|orn2|bfe|lshl|lshr|ashr|not|'
               r'quadmask|wqm|abs)_[biu]\d\d|s_lshl\d_add_u32|s_bcnt[01]_\w+|s_\w+_(saveexec|wrexec)_b\d\d|s_cmp\w*|'
               r's_bitcmp\w+|s_addk_i32')
SCC_READERS = common.SCC_READERS
BRANCHES = r's_(branch|cbranch_\w+|setpc_b64|swappc_b64|call_b64|rfe_\w+)'
TRANSCENDENTAL = r'v_(exp|log|rcp|rcp_iflag|rsq|sqrt|sin|cos)_(legacy_)?f\d\d'
# LLVM 19 lists these for gfx942, whose silicon lacks them (CDNA3 ISA, MUBUF opcodes; llvm-project issue 55591).
NOT_ON_GFX942 = r'buffer_wbinvl1(_vol)?|buffer_store_lds_dword'
NATIVE_SDST = r'v_(div_scale|\w+_co_u32|mad_[ui]64)\w*'


def select(name, forms):
    """Drops what belongs to a format nested in this one's opcode space."""
    limit = {'SOP2': 96, 'SOPK': 29, 'VOP2': 62, 'VOP3': 0x380, 'VOP3SD': 0x380}.get(name, 1 << 16)
    prefix = {'FLAT': 'flat_', 'SCRATCH': 'scratch_', 'GLOBAL': 'global_'}.get(name, '')
    kept = [f for f in forms if f.opcode < limit and f.mnemonic.startswith(prefix) and f.mnemonic != 'v_illegal']
    if name in ('VOP3P', 'MFMA'):
        return [f for f in kept if bool(re.match(r'v_s?mfma', f.mnemonic)) == (name == 'MFMA')]
    if name == 'VOP3SD':
        return [f for f in kept if re.match(NATIVE_SDST, f.mnemonic)]
    return [f for f in kept if not re.match(NATIVE_SDST, f.mnemonic)] if name == 'VOP3' else kept


def mnemonic_types(mnemonic, dst_count, src_count):
    for pattern, dst, src in SPECIAL:
        match = re.fullmatch(pattern, mnemonic)
        if match:
            dst, src = common.expand(dst, match), common.expand(src, match)
            return dst[:dst_count], (src + [src[-1]] * 4)[:src_count]
    return common.mnemonic_types(mnemonic, dst_count, src_count)


def kind_name(kinds):
    return common.kind_name(kinds & 15) + ('G' if kinds & AGPR else '') if kinds & 15 else 'G'


def check(mnemonic, type_name, dwords):
    if type_name != 'pk32':
        common.check(mnemonic, type_name, dwords)
    assert type_name != 'pk32' or dwords == 2, mnemonic


def alu_operands(name, form):
    m, operands = form.mnemonic, form.operands
    sources = [f for f in ('src0', 'src1', 'src2') if f in operands]
    dst_fields = [f for f in ('vdst', 'sdst') if f in operands]
    if name == 'MFMA':
        return matrix_operands(form, sources)
    if name == 'SOPK' and m == 's_cbranch_i_fork':
        return [], [('S', 'b64')]
    dst_types, src_types = mnemonic_types(m, len(dst_fields), len(sources))
    for field, kind in list(zip(dst_fields, dst_types)) + list(zip(sources, src_types)):
        check(m, kind, operands[field][1])
    letter = {'v': 'V', 's': 'S', 'a': 'G'}
    dst = [(letter[operands[f][0]], t) for f, t in zip(dst_fields, dst_types)]
    src = [('G' if operands[f][0] == 'a' else kind_name(form.kinds[f]), t) for f, t in zip(sources, src_types)]
    src = [('S' if t == 'lanes' else kind, t) for kind, t in src]
    return implicit_operands(name, m, dst, src, dst_types)


def matrix_operands(form, sources):
    sparse = form.mnemonic.startswith('v_smfmac')
    src = []
    for field in sources:
        kinds = form.kinds[field] | (0 if sparse and field == 'src2' else AGPR)
        src.append((kind_name(kinds), WIDTHS[form.operands[field][1]]))
    return [('VG', WIDTHS[form.operands['vdst'][1]])], src


def implicit_operands(name, m, dst, src, dst_types):
    if name == 'VOPC':
        dst = [('S', 'lanes')]
    if name == 'VOP2' and '_co_' in m:
        dst = dst + [('S', 'lanes')]
    if name == 'VOP2' and re.match(r'v_(addc|subb|subbrev)_co_|v_cndmask', m):
        src = src + [('S', 'lanes')]
    if name == 'VOP2' and re.match(r'v_(fma|mad)ak', m):
        src = src + [('L', dst_types[0])]
    if name == 'VOP2' and re.match(r'v_(fma|mad)mk', m):
        src = [src[0], ('L', dst_types[0]), src[1]]
    if name == 'SOPK':
        if re.match(r's_(cmpk|setreg_b32)', m):
            dst, src = [], [('S', d[1]) for d in dst]
        if m == 's_setreg_imm32_b32':
            src = [('L', 'b32')]
    return dst, src


def memory_data(m, width):
    """Type of a load's, store's or atomic's data."""
    if 'pk_add' in m:
        return 'pk16'
    if m.startswith('ds_') or re.search(r'_f(32|64)$', m):
        return common.memory_data(m, width)
    if 'd16' in m and width == 1:
        return 'b32' if 'format_d16_xy' in m else 'b16'
    for token in m.split('_'):
        kind = MEMORY_TYPES.get(token)
        if kind and len(kind) > 1 and width == 1:
            return kind
        if kind and len(kind) == 1 and 'atomic' in m:
            return kind + str(32 * width)
    return common.BY_WIDTH[width]


def memory_operands(name, form):
    m, ops = form.mnemonic, form.operands
    data_kind = 'VG' if 'acc' in form.mods else 'V'
    if name == 'SMEM':
        return scalar_memory(m, ops)
    if name == 'DS':
        return lds_operands(m, ops, data_kind)
    data = [(data_kind, memory_data(m, ops[f][1])) for f in ('vdst', 'vdata') if f in ops]
    returned = data
    if 'cmpswap' in m:
        returned = [(data_kind, memory_data(m, ops['vdata'][1] // 2))]
    if name in ('MUBUF', 'MTBUF'):
        if 'srsrc' not in ops:
            return [], []
        address = [('V', 'u32'), ('S', 'b128'), ('SC', 'u32')]
        if 'atomic' in m:
            return returned, address + data
        return ([], address + data) if 'store' in m else (data, address)
    vaddr = [('V', 'u32' if name == 'SCRATCH' else 'b64')]
    saddr = [] if name == 'FLAT' else [('S', 'u32' if name == 'SCRATCH' else 'b64')]
    if 'atomic' in m:
        return returned, vaddr + data + saddr
    return ([], vaddr + data + saddr) if 'store' in m else (data, vaddr + saddr)


def scalar_memory(m, ops):
    """Loads: sdata = {sbase, soffset}; stores and atomics: {sbase, soffset, sdata}, atomics return to sdata with glc."""
    data = [('S', common.BY_WIDTH[ops['sdst'][1]])] if 'sdst' in ops else []
    if 'src0' not in ops:
        return data, []
    address = [('S', common.BY_WIDTH[ops['src0'][1]]), ('S', 'u32')]
    if 'atomic' in m:
        half = common.BY_WIDTH[ops['sdst'][1] // 2] if 'cmpswap' in m else data[0][1]
        return [('S', half)], address + data
    return ([], address + data) if 'store' in m else (data, address)


def lds_operands(m, ops, kind):
    dst = [(kind, memory_data(m, ops['vdst'][1]))] if 'vdst' in ops else []
    src = []
    for field in ('src0', 'src1', 'src2'):
        if field in ops:
            address = field == 'src0' and 'gws' not in m and ops[field][1] == 1
            src.append(('V', 'u32') if address else (kind, memory_data(m, ops[field][1])))
    return dst, src


def flags(name, form):
    m, cpu = form.mnemonic, form.cpu
    memory = name in common.MEMORY_FORMATS
    carry_in = name == 'VOP2' and re.match(r'v_(addc|subb|subbrev)_co_', m)
    checks = {
        'kMemory': memory,
        'kStore': memory and ('store' in m or re.match(r'ds_write', m)),
        'kAtomic': 'atomic' in m or (name == 'DS' and re.match(
            r'ds_(pk_add|r?sub|add|inc|dec|min|max|and|or|xor|mskor|cmpst|wrxchg2?|wrxchg2st64|wrap|condxchg32)_|'
            r'ds_(append|consume)', m) and 'gs_reg' not in m),
        'kBranch': re.fullmatch(BRANCHES, m),
        'kTrans': re.fullmatch(TRANSCENDENTAL, m),
        'kMatrix': name == 'MFMA',
        'kNotOnSilicon': cpu == 'gfx942' and re.fullmatch(NOT_ON_GFX942, m),
        'kReadsVcc': carry_in or (name == 'VOP2' and 'cndmask' in m) or re.match(r'v_div_fmas|s_cbranch_vcc', m),
        'kWritesVcc': (name == 'VOP2' and '_co_' in m) or name == 'VOPC',
        'kReadsScc': re.fullmatch(SCC_READERS, m),
        'kWritesScc': re.fullmatch(SCC_WRITERS, m) and name.startswith('SOP'),
        'kWritesExec': 'cmpx' in m or 'saveexec' in m or 'wrexec' in m,
        'kGraphics': name == 'MIMG' or re.match(common.GRAPHICS_ONLY, m),
        'kLiteral': re.match(r'v_(fma|mad)[am]k', m) or 'imm32' in m,
    }
    return ' | '.join(flag for flag, on in checks.items() if on) or '0'


def accepted(form):
    m = form.mnemonic
    extra = {'dpp'} if form.dpp and 'src0' in form.operands else set()
    extra |= {'sdwa'} if form.sdwa and 'src0' in form.operands else set()
    extra |= {'gds_only'} if form.text.endswith(' gds') else set()
    extra |= {'two_offsets'} if re.match(r'ds_(read2|write2|wrxchg2)', m) else set()
    extra |= {'simm'} if m == 's_set_gpr_idx_on' else set()
    extra |= {'lds'} if m == 'buffer_store_lds_dword' else set()
    mods = form.mods - {'sext0', 'sext1', 'acc', 'acc0', 'acc1', 'acc_cd', 'abid', 'blgp'}
    if 'cbsz' in mods:
        mods = mods - {'cbsz'} | {'matrix'}
        extra |= {f'neg{i}' for i in range(3)} if '_f64_' in m and re.search(r'_f64$', m) else set()
    return mods - {'gds'} | extra


def modifiers(names):
    words = [common.modifiers(names)] if common.modifiers(names) != '0' else []
    return ' | '.join(words + [m for m in ('sc1', 'lds', 'sdwa', 'matrix') if m in names]) or '0'


def row(name, form, _):
    if name == 'MIMG':
        dst, src = [], []
    elif name in common.MEMORY_FORMATS:
        dst, src = memory_operands(name, form)
    else:
        dst, src = alu_operands(name, form)
    spell = lambda operands: ', '.join(f'{kind}({type_name})' for kind, type_name in operands)
    ignored = form.ignored - {'sext0', 'sext1', 'acc', 'simm', 'lds'}
    return (f'INST( {form.mnemonic}, {name}, {form.opcode:#x}, ({spell(dst)}), ({spell(src)}), '
            f'{flags(name, form)}, {modifiers(accepted(form))}, {modifiers(ignored)} )')
