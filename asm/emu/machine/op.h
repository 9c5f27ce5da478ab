#pragma once
#include <cassert>
#include <cstdint>
#include <type_traits>

// One decoded instruction ready to run, and what an instruction of each kind carries.
namespace strata::emu {

struct Wave;
struct Op;
struct MatrixPlan;

/// A handler executes one decoded instruction and returns the next one. It returns nullptr to leave the wave (its end,
/// a wait, a barrier, a fault: Wave::stop says which). Where the compiler guarantees tail calls a handler calls the
/// next one itself.
using Handler = const Op* (*)(Wave*, const Op*);

#if defined(__clang__)
#define STRATA_EMU_GOTO(target)                                           \
    do {                                                                  \
        const ::strata::emu::Op* strata_next_ = (target);                 \
        [[clang::musttail]] return strata_next_->run(wave, strata_next_); \
    } while (0)
#else
#define STRATA_EMU_GOTO(target) return (target)
#endif
/// Ends a handler whose parameters are named `wave` and `op`.
#define STRATA_EMU_NEXT STRATA_EMU_GOTO(op + 1)

/// Where a register is: its byte offset from the Wave, vector rows and scalars alike.
using Place = uint32_t;

/// VOP1 VOP2 VOPC VOP3 VOP3P. Bit i of the masks goes with source i, bit 3 of op_sel with the destination.
struct VectorFields {
    Place dst = 0, dst2 = 0;  ///< dst2: carry-out or comparison result
    Place src[3] = {0, 0, 0};
    uint8_t uniform = 0;   ///< one dword for all lanes: a scalar or a constant
    uint8_t constant = 0;  ///< value[i], as VectorFlag extends it
    uint8_t neg = 0, abs = 0, neg_hi = 0;
    uint8_t op_sel = 0, op_sel_hi = 0;
    uint8_t omod : 2 = 0, clamp : 1 = 0;
    uint8_t is_signed : 2 = 0;  ///< sources of an integer dot product
    uint16_t flags = 0;         ///< vector_flag
    uint16_t sub_dword = 0;     ///< selections of SDWA: sdwa_bit
    uint32_t value[3] = {0, 0, 0};
    uint32_t dpp = 0;  ///< dpp_bit
};

/// VOPD: of each pair the first is X's, the second Y's.
struct DualFields {
    Place dst[2] = {0, 0};
    Place first[2] = {0, 0}, second[2] = {0, 0};  ///< sources; the second ones are vector registers
    uint8_t uniform = 0, constant = 0;            ///< of `first`, as in VectorFields
    uint32_t value[2] = {0, 0};
    uint32_t literal = 0;    ///< shared by fmaak and fmamk
    uint32_t mode_bits = 0;  ///< set beside MODE's
};

/// MFMA, SMFMAC, WMMA, SWMMAC.
struct MatrixFields {
    Place dst = 0, a = 0, b = 0;
    Place addend = 0;             ///< C
    Place index = 0;              ///< of a sparse A
    uint8_t neg = 0, neg_hi = 0;  ///< bit 0: A, bit 1: B
    uint32_t flags = 0;           ///< matrix_bit
    const MatrixPlan* plan = nullptr;
    uint64_t constant = 0;  ///< C, where it is one
};

/// How lane addresses are formed.
enum class Space : uint8_t { global_saddr, global_vaddr, flat, scratch, local, buffer, gds };

enum MemoryFlag : uint8_t {
    kIsStore = 1,
    kIsAtomic = 2,
    kReturns = 4,
    kTwoAddresses = 8,
    kNoAddress = 16,  ///< no lane has an address of its own
    kGrouped = 32     ///< stands for several loads: GroupFields
};

/// DS: a second data operand, and the second one of two offsets.
struct LocalFields {
    Place data2 = 0;
    uint32_t offset2 = 0;
};

enum BufferMode : uint8_t {
    kOffen = 1,
    kIdxen = 2,
    kConstantSoffset = 4,
    kGfx9Resource = 8,        ///< the V# is one of GFX9
    kInstructionFormat = 16,  ///< the format is the instruction's, not the V#'s
    kStatus = 32,             ///< tfe: a dword of status follows the data
    kFormatted = 64,          ///< a load or store in a data format
    kScaledStride = 128       ///< the V# is one of RDNA4
};
/// How registers hold the components of a data format.
enum class Hold : uint8_t { dword, half, high_half };

/// MUBUF, MTBUF.
struct BufferFields {
    uint32_t soffset = 0;    ///< a Place, or with kConstantSoffset the offset itself
    uint8_t modes = 0;       ///< BufferMode
    uint8_t format = 0;      ///< with kInstructionFormat
    uint8_t components = 0;  ///< with kFormatted; so are the next two
    Hold hold = Hold::dword;
    bool fills_with_x = false;  ///< stores give the components that the instruction has not the value of X
};

/// The first of several loads that run as one.
struct GroupFields {
    uint32_t loads = 0;
    uint32_t below = 0, reach = 0;  ///< bytes of all of them before the first byte of this one, and from there on
    uint32_t kind = 0;              ///< which loads these are
};

/// Vector memory: GLOBAL FLAT SCRATCH DS MUBUF MTBUF.
struct MemoryFields {
    Place dst = 0, data = 0;  ///< rows loaded and stored
    Place address = 0;        ///< rows: address, offset or index
    Place base = 0;           ///< scalars: saddr or V#
    uint32_t offset = 0;      ///< the instruction's own
    Space space = Space::flat;
    uint8_t bytes = 0;  ///< of a lane's item
    uint8_t flags = 0;  ///< MemoryFlag
    uint8_t hit = 0;    ///< of Wave::hits
    [[gnu::always_inline]] bool is(MemoryFlag flag) const { return flags & flag; }

    [[gnu::always_inline]] const LocalFields& local() const { return assert(is_ds()), local_; }
    [[gnu::always_inline]] LocalFields& local() { return assert(is_ds()), local_; }
    [[gnu::always_inline]] const BufferFields& buffer() const { return assert(space == Space::buffer), buffer_; }
    [[gnu::always_inline]] BufferFields& buffer() { return assert(space == Space::buffer), buffer_; }
    [[gnu::always_inline]] const GroupFields& group() const { return assert(flags & kGrouped), group_; }
    [[gnu::always_inline]] void set(const BufferFields& fields) { buffer_ = fields; }
    [[gnu::always_inline]] void set(const GroupFields& fields) { flags |= kGrouped, group_ = fields; }

  private:
    bool is_ds() const { return space == Space::local || space == Space::gds; }
    union {
        LocalFields local_ = {};
        BufferFields buffer_;
        GroupFields group_;
    };
};

/// SOP1 SOP2 SOPK SOPC SOPP. Scalars lie in the Wave's first bytes: 16 bits hold their places.
struct ScalarFields {
    uint16_t dst = 0;
    uint16_t src[3] = {0, 0, 0};  ///< a Place, or for a constant its index in `value`
    uint8_t constant = 0;
    uint16_t patience = 0;             ///< wait for loads: instructions of its turn that a wave runs before
    uint32_t value[4] = {0, 0, 0, 0};  ///< constants of 64 bits take two
    uint32_t imm = 0;                  ///< simm16
    int32_t distance = 0;              ///< of a branch, in Ops
    uint64_t after = 0;                ///< address of the next instruction
};

/// SMEM.
struct ScalarMemoryFields {
    Place dst = 0, data = 0, base = 0;
    bool constant_soffset = false;
    uint8_t hit = 0;       ///< of Wave::hits
    uint32_t soffset = 0;  ///< a Place, or the offset itself
    uint32_t offset = 0;   ///< the instruction's own
};

/// A wave that gives its vector registers back.
struct ReleaseFields {
    static constexpr uint64_t kNobody = ~0ull;
    uint64_t user = kNobody;  ///< byte offset in the text of the next instruction that uses them
};

/// Glue between chunks.
struct GlueFields {
    uint64_t offset = 0;  ///< where to go on: byte offset in the text
};

/// The end of code that was made for one instruction at run time.
struct ResumeFields {
    const Op* next = nullptr;
};

/// Every layout, the name of its accessor and its fields.
#define STRATA_EMU_LAYOUTS(LAYOUT)            \
    LAYOUT(vector, VectorFields)              \
    LAYOUT(dual, DualFields)                  \
    LAYOUT(matrix, MatrixFields)              \
    LAYOUT(memory, MemoryFields)              \
    LAYOUT(scalar, ScalarFields)              \
    LAYOUT(scalar_memory, ScalarMemoryFields) \
    LAYOUT(release, ReleaseFields)            \
    LAYOUT(glue, GlueFields)                  \
    LAYOUT(resume, ResumeFields)

enum class Layout : uint8_t {
    none,
#define LAYOUT(name, Fields) name,
    STRATA_EMU_LAYOUTS(LAYOUT)
#undef LAYOUT
};

/// 64 bytes: a head that all have, and the fields of one layout. Asking for those of another one is an error that debug
/// builds find. Members are forced inline, as code of all host widths uses them.
struct alignas(64) Op {
    Handler run = nullptr;
    uint32_t index = 0;  ///< ordinal of the instruction in its Chunk; differences count instructions
    Layout layout = Layout::none;

    Op() = default;
    [[gnu::always_inline]] explicit Op(Handler run_) : run(run_) {}
#define LAYOUT(name, Fields)                                                                              \
    [[gnu::always_inline]] Op(Handler run_, const Fields& fields)                                         \
        : run(run_), layout(Layout::name), name##_(fields) {}                                             \
    [[gnu::always_inline]] const Fields& name() const { return assert(layout == Layout::name), name##_; } \
    [[gnu::always_inline]] Fields& name() { return assert(layout == Layout::name), name##_; }
    STRATA_EMU_LAYOUTS(LAYOUT)
#undef LAYOUT

  private:
    union {
        uint8_t none_[48] = {};
#define LAYOUT(name, Fields) Fields name##_;
        STRATA_EMU_LAYOUTS(LAYOUT)
#undef LAYOUT
    };
};
static_assert(sizeof(Op) == 64 && std::is_trivially_copyable_v<Op>);

}  // namespace strata::emu
