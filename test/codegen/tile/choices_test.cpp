#include <gtest/gtest.h>

#include "strata/codegen/tile/trace.h"
#include "strata/core/support/error.h"
#include "strata/core/uop/kernel.h"

namespace strata::lang {
namespace {

UOp element(int64_t i) { return index_const(i); }
UOp constant_of(int64_t i) { return constant_int(dtypes::int32, i); }

/// Registers x and y of one element, and z, which is one of them.
struct Chosen {
    Trace& t;
    UOp x = of(1), y = of(2), z = of(1);
    explicit Chosen(Trace& t) : t(t) { t.choose(z, x, y, 7); }
    UOp of(int64_t value) {
        const UOp memory = t.registers(1, dtypes::int32);
        t.store(memory, element(0), constant_of(value));
        return memory;
    }
    UOp read(UOp memory) { return t.load(memory, element(0)); }
    void change(UOp memory) { t.store(memory, element(0), constant_of(9)); }
};

/// The text of a trace's error; empty where there is none.
template <class Body>
std::string refused(Body body) {
    GraphScope scope;
    Trace t;
    Chosen c(t);
    try {
        body(t, c);
    } catch (const Exception& e) {
        return e.error().message;
    }
    return {};
}

TEST(Choices, AnAssignmentThatAReadWouldMissIsRefusedWithTheLine) {
    const std::string why = refused([](Trace&, Chosen& c) { c.change(c.z), c.read(c.x); });
    EXPECT_NE(why.find("line 7 takes registers"), std::string::npos) << why;
    EXPECT_FALSE(refused([](Trace&, Chosen& c) { c.change(c.y), c.read(c.z); }).empty());
}

TEST(Choices, ReadsAndAssignmentsByOneNameMissNothing) {
    EXPECT_EQ(refused([](Trace&, Chosen& c) { c.read(c.x), c.read(c.z), c.read(c.y); }), "");
    EXPECT_EQ(refused([](Trace&, Chosen& c) { c.change(c.z), c.read(c.z); }), "");
    EXPECT_EQ(refused([](Trace&, Chosen& c) { c.read(c.x), c.change(c.z), c.read(c.z); }), "");
    EXPECT_EQ(refused([](Trace&, Chosen& c) { c.change(c.x), c.read(c.y); }), "") << "two objects before and after";
}

TEST(Choices, TheNextStepOfALoopReadsAgain) {
    const auto loop = [](Trace& t, Chosen& c) {
        t.begin_loop(4);
        c.read(c.x);
        c.change(c.z);
        t.end_loop();
    };
    EXPECT_FALSE(refused(loop).empty());
    EXPECT_EQ(refused([](Trace& t, Chosen& c) {
                  t.begin_loop(4);
                  c.read(c.x);
                  t.end_loop();
                  c.change(c.z);
              }),
              "");
}

TEST(Choices, AChoiceOfAChoiceStandsForItsOriginsToo) {
    const auto again = [](Trace& t, Chosen& c) {
        const UOp w = c.of(1);
        t.choose(w, c.z, c.of(5), 8);
        c.change(w);
        c.read(c.y);
    };
    EXPECT_FALSE(refused(again).empty());
    const auto of_the_same = [](Trace& t, Chosen& c) {
        const UOp w = c.of(1);
        t.choose(w, c.x, c.of(5), 8);
        c.change(c.z);
        c.read(w);
    };
    EXPECT_FALSE(refused(of_the_same).empty());
}

TEST(Choices, RegistersThatBecomeAnotherObjectEndTheirs) {
    EXPECT_EQ(refused([](Trace& t, Chosen& c) {
                  c.change(c.z);
                  t.renew(c.x, [&] { c.change(c.x); });
                  c.read(c.x), c.read(c.z);
              }),
              "");
}

TEST(Choices, RegistersBeforeALoopHoldZero) {
    GraphScope scope;
    Trace t;
    t.begin_loop(4);
    const UOp memory = t.registers_before_loop(2, dtypes::int32);
    t.store(memory, element(1), constant_of(3));
    t.end_loop();
    t.store(uop::buffer(0, dtypes::int32, 1), element(0), t.load(memory, element(0)));
    const std::string text = tree(t.finish("kernel"));
    EXPECT_NE(text.find("constant int32 0"), std::string::npos) << text;
}

}  // namespace
}  // namespace strata::lang
