#include <cxxabi.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>

#include "strata/core/support/mutex.h"
#include "strata/hip/rtc/exports_p.h"
#include "strata/hip/rtc/program_p.h"

namespace {

using strata::hiprtc::Program;

constexpr const char* kNames[] = {"HIPRTC_SUCCESS",
                                  "HIPRTC_ERROR_OUT_OF_MEMORY",
                                  "HIPRTC_ERROR_PROGRAM_CREATION_FAILURE",
                                  "HIPRTC_ERROR_INVALID_INPUT",
                                  "HIPRTC_ERROR_INVALID_PROGRAM",
                                  "HIPRTC_ERROR_INVALID_OPTION",
                                  "HIPRTC_ERROR_COMPILATION",
                                  "HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE",
                                  "HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
                                  "HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
                                  "HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
                                  "HIPRTC_ERROR_INTERNAL_ERROR"};

struct Programs {
    strata::Mutex mutex;
    std::set<Program*> all;
};
Programs& programs() {
    static auto* all = new Programs;
    return *all;
}

/// Runs the body of a function of the library: no exception leaves it but that of a thread which is being cancelled.
template <class Body>
int entry(Body&& body) {
    try {
        return body();
    } catch (__cxxabiv1::__forced_unwind&) {
        throw;
    } catch (const std::bad_alloc&) {
        return out_of_memory;
    } catch (const std::length_error&) {
        return out_of_memory;
    } catch (...) {
        return internal_error;
    }
}

/// Calls act(program) for a handle.
template <class Act>
int with(void* handle, Act&& act) {
    return entry([&]() -> int {
        auto* const program = static_cast<Program*>(handle);
        {
            std::lock_guard lock(programs().mutex);
            if (!programs().all.contains(program)) return invalid_program;
        }
        try {
            return act(*program);
        } catch (const strata::Exception& e) {
            program->log = e.what();
            return internal_error;
        }
    });
}

}  // namespace

const char* hiprtcGetErrorString(int result) {
    return result >= 0 && static_cast<size_t>(result) < std::size(kNames) ? kNames[result] : nullptr;
}
int hiprtcVersion(int* major, int* minor) {
    if (!major || !minor) return invalid_input;
    *major = 9;  // as AMD's says
    *minor = 0;
    return success;
}
int hiprtcCreateProgram(void** out, const char* source, const char* name, int count, const char** headers,
                        const char** header_names) {
    if (!out || !source || count < 0 || (count && (!headers || !header_names))) return invalid_input;
    for (int i = 0; i < count; ++i)
        if (!headers[i] || !header_names[i]) return invalid_input;
    return entry([&] {
        auto program = std::make_unique<Program>(Program{source, name ? name : ""});
        for (int i = 0; i < count; ++i) program->headers.emplace_back(header_names[i], headers[i]);
        std::lock_guard lock(programs().mutex);
        programs().all.insert(program.get());
        *out = program.release();
        return success;
    });
}
int hiprtcDestroyProgram(void** handle) {
    if (!handle) return invalid_input;
    return entry([&] {
        std::lock_guard lock(programs().mutex);
        auto* const program = static_cast<Program*>(*handle);
        if (!programs().all.erase(program)) return invalid_program;
        delete program;
        *handle = nullptr;
        return success;
    });
}
int hiprtcAddNameExpression(void* handle, const char* expression) {
    if (!expression) return invalid_input;
    return with(handle, [&](Program& program) {
        if (program.compiled) return no_expressions_after_compilation;
        program.expressions.emplace_back(expression);
        return success;
    });
}
int hiprtcCompileProgram(void* handle, int count, const char** options) {
    if (count < 0 || (count && !options)) return invalid_input;
    return with(handle, [&](Program& program) { return compile(program, {options, options + count}); });
}
int hiprtcGetLoweredName(void* handle, const char* expression, const char** name) {
    if (!expression || !name) return invalid_input;
    return with(handle, [&](Program& program) {
        if (!program.compiled) return no_names_before_compilation;
        const auto found = program.lowered.find(expression);
        if (found == program.lowered.end()) return expression_not_valid;
        *name = found->second.c_str();
        return success;
    });
}
int hiprtcGetProgramLogSize(void* handle, size_t* bytes) {
    if (!bytes) return invalid_input;
    return with(handle, [&](Program& program) {
        *bytes = program.log.empty() ? 0 : program.log.size() + 1;
        return success;
    });
}
int hiprtcGetProgramLog(void* handle, char* log) {
    if (!log) return invalid_input;
    return with(handle, [&](Program& program) {
        std::memcpy(log, program.log.c_str(), program.log.empty() ? 0 : program.log.size() + 1);
        return success;
    });
}
int hiprtcGetCodeSize(void* handle, size_t* bytes) {
    if (!bytes) return invalid_input;
    return with(handle, [&](Program& program) {
        if (program.code.empty()) return invalid_program;
        *bytes = program.code.size();
        return success;
    });
}
int hiprtcGetCode(void* handle, char* code) {
    if (!code) return invalid_input;
    return with(handle, [&](Program& program) {
        if (program.code.empty()) return invalid_program;
        std::ranges::copy(program.code, code);
        return success;
    });
}
