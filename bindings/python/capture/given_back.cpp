// The result of a captured call, rebuilt from its tensors.
#include "given_back_p.h"

#include <string>

namespace strata::python {
namespace {

[[noreturn]] void no_result(const py::tuple& described) {
    user_error(ErrorKind::Usage, "[_Capture] '{}' describes no result", shown(described));
}

}  // namespace

GivenBack::GivenBack(const py::tuple& described, size_t results) {
    if (described.size() != 2) no_result(described);
    const py::object what = described[0], value = described[1];
    if (!py::isinstance<py::str>(what)) {
        kind_ = what.is(py::handle(reinterpret_cast<PyObject*>(&PyDict_Type)))    ? Kind::dict
                : what.is(py::handle(reinterpret_cast<PyObject*>(&PyList_Type)))  ? Kind::list
                : what.is(py::handle(reinterpret_cast<PyObject*>(&PyTuple_Type))) ? Kind::tuple
                                                                                  : Kind::other;
        value_ = what;
        take_parts(value, results);
        return;
    }
    const auto word = what.cast<std::string>();
    value_ = value;
    if (word == "plain") {
        kind_ = Kind::plain;
    } else if (word == "argument" && PyTuple_Check(value.ptr()) && py::len(value) > 0) {
        kind_ = Kind::argument;
    } else if (word == "tensor" || word == "again") {
        kind_ = word == "tensor" ? Kind::tensor : Kind::again;
        index_ = value.cast<size_t>();
        if (kind_ == Kind::tensor && index_ >= results) no_result(described);
    } else {
        no_result(described);
    }
}

void GivenBack::take_parts(const py::object& parts, size_t results) {
    for (const py::handle item : parts) {
        if (!PyTuple_Check(item.ptr()) || PyTuple_GET_SIZE(item.ptr()) != 2)
            user_error(ErrorKind::Usage, "[_Capture] a part of a result is a pair, not {}", shown(item));
        const auto part = py::reinterpret_borrow<py::tuple>(item);
        if (kind_ == Kind::dict) {
            keys_.emplace_back(part[0]);
            parts_.emplace_back(part[1].cast<py::tuple>(), results);
        } else {
            parts_.emplace_back(part, results);
        }
    }
}

py::object GivenBack::argument_of(const ReplayedCall& call) const {
    const auto way = py::reinterpret_borrow<py::tuple>(value_);
    const size_t named = call.names ? static_cast<size_t>(PyTuple_GET_SIZE(call.names)) : 0;
    const size_t unnamed = call.args.size() - named;
    size_t at = call.args.size();
    const py::object first = way[0];
    if (PyLong_Check(first.ptr()))
        at = first.cast<size_t>() < unnamed ? first.cast<size_t>() : at;
    else
        for (size_t i = 0; i < named; ++i)
            if (first.equal(
                    py::reinterpret_borrow<py::object>(PyTuple_GET_ITEM(call.names, static_cast<Py_ssize_t>(i)))))
                at = unnamed + i;
    if (at == call.args.size()) user_error(ErrorKind::Usage, "[_Capture] the call has no argument {}", shown(first));
    auto found = py::reinterpret_borrow<py::object>(call.args[at]);
    for (size_t i = 1; i < way.size(); ++i) found = py::object(found[py::object(way[i])]);
    return found;
}

py::object GivenBack::of(const ReplayedCall& call, std::vector<py::object>& made) const {
    switch (kind_) {
        case Kind::tensor: return call.results[index_];
        case Kind::plain: return value_;
        case Kind::argument: return argument_of(call);
        case Kind::again:
            if (index_ >= made.size()) user_error(ErrorKind::Usage, "[_Capture] no container {} was made", index_);
            return made[index_];
        default: break;
    }
    py::object whole;
    if (kind_ == Kind::dict) {
        py::dict all;
        for (size_t i = 0; i < parts_.size(); ++i) all[keys_[i]] = parts_[i].of(call, made);
        whole = std::move(all);
    } else if (kind_ == Kind::list) {
        py::list all(parts_.size());
        for (size_t i = 0; i < parts_.size(); ++i) all[i] = parts_[i].of(call, made);
        whole = std::move(all);
    } else {
        py::tuple all(parts_.size());
        for (size_t i = 0; i < parts_.size(); ++i) all[i] = parts_[i].of(call, made);
        whole = kind_ == Kind::tuple ? py::object(std::move(all)) : value_(all);
    }
    made.push_back(whole);
    return whole;
}

}  // namespace strata::python
