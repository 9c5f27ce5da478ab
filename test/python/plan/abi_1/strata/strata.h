/* Strata's interface for C, version 1: plans of operations and saved artifacts, on emulated and real GPUs.
 *
 * Functions return a strata_status unless they say otherwise; strata_last_error() has the rest. Handles are for all threads
 * at once, but a stream, a call and a descriptor are for one at a time. A struct with `size` begins with its own sizeof, so
 * that it may grow; members that the library does not know must be 0. examples/embed has whole programs. */
#ifndef STRATA_STRATA_H
#define STRATA_STRATA_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__) && !defined(STRATA_API)
#define STRATA_API __attribute__((visibility("default")))
#elif !defined(STRATA_API)
#define STRATA_API
#endif

#define STRATA_ABI 1u

typedef int32_t strata_status;
enum {
    STRATA_OK,
    STRATA_MISALIGNED,  /* an address is no multiple of the alignment that the plan says */
    STRATA_INVALID,     /* a shape, type, stride or axis does not fit */
    STRATA_UNSUPPORTED, /* Strata knows it and does not do it here */
    STRATA_WORKSPACE,   /* the workspace is missing, too small or misaligned */
    STRATA_BUFFER,      /* memory of an operand is smaller than its elements reach */
    STRATA_ARGUMENT,    /* an argument is missing, null or of another type */
    STRATA_VERSION,     /* the library does not serve this version of its interface */
    STRATA_DEVICE,      /* there is no such device, or its driver reports an error */
    STRATA_MEMORY,      /* the device or the host has no memory left */
    STRATA_COMPILE,     /* a kernel could not be compiled */
    STRATA_ARTIFACT,    /* a file is no artifact that this library reads */
    STRATA_FAULT,       /* a kernel faulted */
    STRATA_INTERRUPTED, /* the work was stopped */
    STRATA_INTERNAL     /* a mistake of Strata's own */
};

enum {
    STRATA_BOOL = 1,
    STRATA_INT8,
    STRATA_UINT8,
    STRATA_INT16,
    STRATA_UINT16,
    STRATA_INT32,
    STRATA_UINT32,
    STRATA_INT64,
    STRATA_UINT64,
    STRATA_FLOAT16,
    STRATA_BFLOAT16,
    STRATA_FLOAT32,
    STRATA_FLOAT64,
    STRATA_FP8E4M3,
    STRATA_FP8E5M2,
    STRATA_FP8E4M3FNUZ,
    STRATA_FP8E5M2FNUZ
};

/* Flags. */
enum { STRATA_OPTIONS_ENVIRONMENT = 1 };      /* of options: the STRATA_ variables are read */
enum { STRATA_PREFERENCE_DETERMINISTIC = 1 }; /* of a preference: two runs give the same bits */
enum { STRATA_OPERAND_OUTPUT = 1 };           /* of an operand */
#define STRATA_NOT_MEASURED UINT32_MAX        /* of max_ulp */

typedef struct strata_context strata_context;
typedef struct strata_stream strata_stream;
typedef struct strata_desc strata_desc;
typedef struct strata_plan strata_plan;
typedef struct strata_call strata_call;
typedef struct strata_artifact strata_artifact;

/* Memory of an operand. data: the address of the element of index 0; bytes: of memory that it may use; strides in elements. */
typedef struct strata_tensor {
    uint64_t data, bytes;
    int32_t dtype, rank;
    int64_t shape[8], strides[8];
} strata_tensor;

/* operand: the operand or attribute that it is about, "" for none. needed, got: numbers that it is about. */
typedef struct strata_error {
    uint32_t size;
    int32_t status;
    const char *message, *operand;
    uint64_t needed, got;
} strata_error;

/* cache_dir: NULL: the user's cache folder; "": no cache. log: what the library would say, by level from 1 (error) on. */
typedef struct strata_options {
    uint32_t size, flags;
    const char* cache_dir;
    void (*log)(void* user, int level, const char* text);
    void* user;
} strata_options;

/* max_workspace: bytes; 0: any. target: "asm" or "hip"; NULL: the best there is. beam: width of the search; 0: none. */
typedef struct strata_preference {
    uint32_t size, flags;
    uint64_t max_workspace;
    const char* target;
    int32_t beam, reserved;
} strata_preference;

/* An operand of a plan. like: its type, shape and strides, with the bytes that it reaches, and data 0. */
typedef struct strata_operand {
    uint32_t size, flags;
    const char* name;
    uint64_t alignment;
    strata_tensor like;
} strata_operand;

/* Types of the arithmetic and of sums. bit_stable: no order of additions decides the bits. */
typedef struct strata_precision {
    uint32_t size;
    int32_t math, accumulate;
    uint32_t deterministic, bit_stable, max_ulp;
} strata_precision;

/* Of a context, since it was opened. live_bytes: of memory that strata_alloc gave and strata_free did not take. */
typedef struct strata_counters {
    uint32_t size, reserved;
    uint64_t launches, compilations, allocations, live_bytes;
} strata_counters;

STRATA_API uint32_t strata_abi_version(void);
STRATA_API const char* strata_version(void);
STRATA_API const char* strata_status_name(int32_t status); /* "INVALID"; "?" for a number that is no status */
/* The last error of this thread, valid until its next call that fails; a status of 0: there was none. */
STRATA_API const strata_error* strata_last_error(void);

/* abi: STRATA_ABI. options: NULL: without flags. device: "emu:gfx1100", "amd:0", ...; NULL: the first there is. */
STRATA_API strata_status strata_open(uint32_t abi, const strata_options* options, const char* device,
                                     strata_context** context);
/* Plans, streams and artifacts of a context may be used, and destroyed, after it. Memory that is left is freed. */
STRATA_API void strata_close(strata_context* context);
STRATA_API const char* strata_arch(const strata_context* context);
STRATA_API strata_status strata_count(const strata_context* context, strata_counters* counters);

STRATA_API strata_status strata_alloc(strata_context* context, uint64_t bytes, uint64_t* address);
STRATA_API strata_status strata_free(strata_context* context, uint64_t address);
/* Copies after the work of a stream, NULL being the context's. They return when the host's memory was read, or is there. */
STRATA_API strata_status strata_upload(strata_context* context, strata_stream* stream, uint64_t to, const void* from,
                                       uint64_t bytes);
STRATA_API strata_status strata_download(strata_context* context, strata_stream* stream, void* to, uint64_t from,
                                         uint64_t bytes);

STRATA_API strata_status strata_stream_create(strata_context* context, strata_stream** stream);
/* Over a hipStream_t or cudaStream_t, which stays its owner's. */
STRATA_API strata_status strata_stream_wrap(strata_context* context, void* native, strata_stream** stream);
STRATA_API strata_status strata_synchronize(strata_context* context, strata_stream* stream);
STRATA_API void strata_stream_destroy(strata_stream* stream);

STRATA_API strata_status strata_desc_create(strata_context* context, const char* operation, strata_desc** desc);
/* strides: NULL: row-major. */
STRATA_API strata_status strata_desc_tensor(strata_desc* desc, const char* name, int32_t dtype, int32_t rank,
                                            const int64_t* shape, const int64_t* strides);
STRATA_API strata_status strata_desc_ints(strata_desc* desc, const char* name, const int64_t* values, uint32_t count);
STRATA_API strata_status strata_desc_float(strata_desc* desc, const char* name, double value);
STRATA_API strata_status strata_desc_text(strata_desc* desc, const char* name, const char* value);
STRATA_API void strata_desc_destroy(strata_desc* desc);
/* preference: NULL: none. */
STRATA_API strata_status strata_select(strata_context* context, const strata_desc* desc,
                                       const strata_preference* preference, strata_plan** plan);
/* An artifact, as strata.Artifact.load reads it: a folder, or one file where the path ends in .strata. */
STRATA_API strata_status strata_plan_save(const strata_plan* plan, const char* path);

STRATA_API void strata_plan_destroy(strata_plan* plan);
STRATA_API uint32_t strata_plan_operands(const strata_plan* plan);
STRATA_API uint32_t strata_plan_launches(const strata_plan* plan);
STRATA_API uint64_t strata_plan_workspace(const strata_plan* plan);
STRATA_API strata_status strata_plan_operand(const strata_plan* plan, uint32_t i, strata_operand* operand);
STRATA_API strata_status strata_plan_precision(const strata_plan* plan, strata_precision* precision);
/* Writes the text with its ending 0 where `capacity` bytes hold it; each pointer may be NULL. length: without the 0. */
STRATA_API strata_status strata_plan_sku(const strata_plan* plan, char* json, uint64_t capacity, uint64_t* length,
                                         uint64_t* hash);

STRATA_API strata_status strata_can_implement(const strata_plan* plan, const strata_tensor* operands, uint32_t count);
STRATA_API strata_status strata_run(const strata_plan* plan, strata_stream* stream, uint64_t workspace, uint64_t bytes,
                                    const strata_tensor* operands, uint32_t count);
/* A run whose operands were checked once. */
STRATA_API strata_status strata_bind(const strata_plan* plan, uint64_t workspace, uint64_t bytes,
                                     const strata_tensor* operands, uint32_t count, strata_call** call);
STRATA_API strata_status strata_call_set(strata_call* call, uint32_t i, uint64_t data);
STRATA_API strata_status strata_call_run(const strata_call* call, strata_stream* stream);
STRATA_API void strata_call_destroy(strata_call* call);

STRATA_API strata_status strata_artifact_open(strata_context* context, const char* path, strata_artifact** artifact);
/* The bytes of a .strata file, which may go when this returns. */
STRATA_API strata_status strata_artifact_memory(strata_context* context, const void* bytes, uint64_t count,
                                                strata_artifact** artifact);
STRATA_API strata_status strata_artifact_load(const strata_artifact* artifact, strata_plan** plan);
STRATA_API void strata_artifact_close(strata_artifact* artifact);

#ifdef __cplusplus
}
#endif
#endif
