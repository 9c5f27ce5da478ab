#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace strata::python {

/// The changes of a block: settings by name, and the listeners to findings and launches in it.
struct Changes {
    std::vector<std::pair<std::string, std::string>> settings;
    std::shared_ptr<void> listener = {};
    std::shared_ptr<void> profiler = {};
};

/// The settings of a block of a context, as `with strata.config(...)` has them. Throws the Exceptions of set().
class Config {
  public:
    explicit Config(Changes changes);
    void enter() const;
    void exit() const;

  private:
    std::shared_ptr<const Changes> changes_;
};

}  // namespace strata::python
