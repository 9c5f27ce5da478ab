// Strata's interface for C++17, over strata.h alone: handles that close themselves, and errors as exceptions.
#ifndef STRATA_STRATA_HPP
#define STRATA_STRATA_HPP
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "strata/strata.h"

namespace strata_api {

/// The report of a call that failed.
class Error : public std::runtime_error {
  public:
    Error(strata_status status, const strata_error& error)
        : std::runtime_error(error.message),
          status(status),
          operand(error.operand),
          needed(error.needed),
          got(error.got) {}
    strata_status status;
    std::string operand;
    std::uint64_t needed, got;
};
inline void check(strata_status status) {
    if (status != STRATA_OK) throw Error(status, *strata_last_error());
}

template <class T, void (*destroy)(T*)>
struct Destroy {
    void operator()(T* handle) const { destroy(handle); }
};
template <class T, void (*destroy)(T*)>
using Handle = std::unique_ptr<T, Destroy<T, destroy>>;

using Shape = std::vector<std::int64_t>;

class Stream {
  public:
    explicit Stream(strata_stream* handle) : handle_(handle) {}
    strata_stream* get() const { return handle_.get(); }

  private:
    Handle<strata_stream, strata_stream_destroy> handle_;
};

/// A tensor's memory, row by row.
inline strata_tensor tensor(std::uint64_t data, std::int32_t dtype, const Shape& shape, std::uint64_t bytes) {
    strata_tensor out{};
    out.data = data, out.bytes = bytes, out.dtype = dtype, out.rank = static_cast<std::int32_t>(shape.size());
    std::int64_t step = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        out.shape[axis] = shape[axis], out.strides[axis] = step;
        step *= shape[axis] > 0 ? shape[axis] : 1;
    }
    return out;
}

class Plan {
  public:
    explicit Plan(strata_plan* handle) : handle_(handle) {}
    strata_plan* get() const { return handle_.get(); }
    std::uint64_t workspace() const { return strata_plan_workspace(get()); }
    std::uint32_t launches() const { return strata_plan_launches(get()); }
    std::vector<strata_operand> operands() const {
        std::vector<strata_operand> out(strata_plan_operands(get()));
        for (std::uint32_t i = 0; i < out.size(); ++i) {
            out[i].size = sizeof(strata_operand);
            check(strata_plan_operand(get(), i, &out[i]));
        }
        return out;
    }
    void can_implement(const std::vector<strata_tensor>& operands) const {
        check(strata_can_implement(get(), operands.data(), static_cast<std::uint32_t>(operands.size())));
    }
    void run(const std::vector<strata_tensor>& operands, std::uint64_t workspace = 0, std::uint64_t bytes = 0,
             const Stream* stream = nullptr) const {
        check(strata_run(get(), stream ? stream->get() : nullptr, workspace, bytes, operands.data(),
                         static_cast<std::uint32_t>(operands.size())));
    }

  private:
    Handle<strata_plan, strata_plan_destroy> handle_;
};

/// An operation with its operands and attributes.
class Descriptor {
  public:
    explicit Descriptor(strata_desc* handle) : handle_(handle) {}
    Descriptor& tensor(const char* name, std::int32_t dtype, const Shape& shape, const Shape* strides = nullptr) {
        check(strata_desc_tensor(handle_.get(), name, dtype, static_cast<std::int32_t>(shape.size()), shape.data(),
                                 strides ? strides->data() : nullptr));
        return *this;
    }
    Descriptor& ints(const char* name, const Shape& values) {
        check(strata_desc_ints(handle_.get(), name, values.data(), static_cast<std::uint32_t>(values.size())));
        return *this;
    }
    Descriptor& number(const char* name, double value) {
        check(strata_desc_float(handle_.get(), name, value));
        return *this;
    }
    Descriptor& text(const char* name, const char* value) {
        check(strata_desc_text(handle_.get(), name, value));
        return *this;
    }
    const strata_desc* get() const { return handle_.get(); }

  private:
    Handle<strata_desc, strata_desc_destroy> handle_;
};

/// A device. Plans and streams may outlive it; memory that alloc gave does not.
class Context {
  public:
    explicit Context(const char* device = nullptr, const strata_options* options = nullptr) {
        strata_context* handle = nullptr;
        check(strata_open(STRATA_ABI, options, device, &handle));
        handle_.reset(handle);
    }
    std::string arch() const { return strata_arch(handle_.get()); }
    std::uint64_t alloc(std::uint64_t bytes) const {
        std::uint64_t address = 0;
        check(strata_alloc(handle_.get(), bytes, &address));
        return address;
    }
    void free(std::uint64_t address) const { check(strata_free(handle_.get(), address)); }
    void upload(std::uint64_t to, const void* from, std::uint64_t bytes, const Stream* stream = nullptr) const {
        check(strata_upload(handle_.get(), stream ? stream->get() : nullptr, to, from, bytes));
    }
    void download(void* to, std::uint64_t from, std::uint64_t bytes, const Stream* stream = nullptr) const {
        check(strata_download(handle_.get(), stream ? stream->get() : nullptr, to, from, bytes));
    }
    Stream stream() const {
        strata_stream* handle = nullptr;
        check(strata_stream_create(handle_.get(), &handle));
        return Stream(handle);
    }
    void synchronize(const Stream* stream = nullptr) const {
        check(strata_synchronize(handle_.get(), stream ? stream->get() : nullptr));
    }
    Descriptor describe(const char* operation) const {
        strata_desc* handle = nullptr;
        check(strata_desc_create(handle_.get(), operation, &handle));
        return Descriptor(handle);
    }
    Plan select(const Descriptor& descriptor, const strata_preference* preference = nullptr) const {
        strata_plan* handle = nullptr;
        check(strata_select(handle_.get(), descriptor.get(), preference, &handle));
        return Plan(handle);
    }
    /// The plan of an artifact for this device.
    Plan load(const char* path) const {
        strata_artifact* handle = nullptr;
        check(strata_artifact_open(handle_.get(), path, &handle));
        const Handle<strata_artifact, strata_artifact_close> artifact(handle);
        strata_plan* plan = nullptr;
        check(strata_artifact_load(handle, &plan));
        return Plan(plan);
    }
    strata_context* get() const { return handle_.get(); }

  private:
    Handle<strata_context, strata_close> handle_;
};

}  // namespace strata_api
#endif
