#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "strata/ops/tensor.h"

namespace strata::ops {

struct Leaf;

/// A function that this thread traces into a graph over stand-ins of its arguments. Reads of their values and changes
/// of tensors from outside are usage errors that say what to do: no graph holds them.
class Tracing {
  public:
    explicit Tracing(std::string function);
    static Tracing* active();  ///< of this thread; null: none

    /// A stand-in of an argument; the object is the one that the function is given.
    void add_argument(const Tensor& stand_in, std::string name);
    /// A tensor that was there before, by its object.
    void add_outside(const Tensor& t, std::string name);

    class Scope {
      public:
        explicit Scope(Tracing& tracing);
        ~Scope();
        Scope(const Scope&) = delete;

      private:
        Tracing* previous_;
    };

    /// The name of the argument that this is a view of; "": of none.
    std::string argument_below(const Tensor& view) const;
    /// Called before these are computed, or their values read.
    void read(std::span<const UOp> nodes) const;
    /// Called before a tensor becomes another value.
    void assigned(const Tensor& t) const;
    /// Called before a gradient is left.
    void leaves_gradient(const Leaf& leaf) const;

  private:
    struct Named {
        const Tensor* object;
        Root buffer;  ///< of an argument with elements
        std::string name;
    };
    const Named* argument_of(UOp buffer) const;
    bool is_older(const Tensor& t) const;

    std::string function_;
    uint64_t first_;  ///< id of the first buffer that it may make
    std::vector<Named> arguments_, outside_;
    std::vector<std::shared_ptr<Leaf>> leaves_;  ///< that were there before
};

}  // namespace strata::ops
