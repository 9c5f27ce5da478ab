// Objects of the program: what refers to them, and when they are destroyed.
#include "fixture.h"

namespace strata::hip::library {
namespace {

class UserObjects : public Library {
  protected:
    void SetUp() override {
        Library::SetUp();
        ASSERT_EQ(hipGraphCreate(&graph_, 0), hipSuccess);
    }
    void TearDown() override {
        if (graph_) EXPECT_EQ(hipGraphDestroy(graph_), hipSuccess);
    }
    static void count(void* data) { ++*static_cast<int*>(data); }
    void* object(unsigned references) {
        void* out = nullptr;
        EXPECT_EQ(hipUserObjectCreate(&out, &destroyed_, count, references, 1), hipSuccess);
        return out;
    }
    void destroy_graph() {
        EXPECT_EQ(hipGraphDestroy(graph_), hipSuccess);
        graph_ = nullptr;
    }
    void* graph_ = nullptr;
    int destroyed_ = 0;
};

TEST_F(UserObjects, AreDestroyedWithTheLastReferenceOnce) {
    void* const own = object(2);
    EXPECT_EQ(hipUserObjectRetain(own, 3), hipSuccess);
    EXPECT_EQ(hipUserObjectRelease(own, 4), hipSuccess);
    EXPECT_EQ(destroyed_, 0);
    EXPECT_EQ(hipUserObjectRelease(own, 1), hipSuccess);
    EXPECT_EQ(destroyed_, 1);
    EXPECT_EQ(hipUserObjectRetain(own, 1), hipSuccess) << "it is gone: nothing is done";
    EXPECT_EQ(hipUserObjectRelease(own, 9), hipSuccess);
    EXPECT_EQ(destroyed_, 1);
    EXPECT_EQ(hipUserObjectRelease(object(2), 9), hipSuccess) << "more than there are";
    EXPECT_EQ(destroyed_, 2);
}

TEST_F(UserObjects, LiveAsLongAsAGraphHoldsThem) {
    void* const own = object(1);
    EXPECT_EQ(hipGraphRetainUserObject(graph_, own, 2, 0), hipSuccess);
    EXPECT_EQ(hipUserObjectRelease(own, 1), hipSuccess);
    EXPECT_EQ(hipGraphReleaseUserObject(graph_, own, 1), hipSuccess);
    EXPECT_EQ(destroyed_, 0);
    destroy_graph();
    EXPECT_EQ(destroyed_, 1);
}

TEST_F(UserObjects, MoveToAGraph) {
    void* const own = object(1);
    EXPECT_EQ(hipGraphRetainUserObject(graph_, own, 1, 1), hipSuccess);
    EXPECT_EQ(destroyed_, 0);
    EXPECT_EQ(hipGraphReleaseUserObject(graph_, own, 9), hipSuccess) << "more than it holds";
    EXPECT_EQ(destroyed_, 1);
    void* const next = object(1);
    EXPECT_NE(next, own) << "a handle means one object";
    EXPECT_EQ(hipGraphReleaseUserObject(graph_, next, 1), hipSuccess) << "the graph holds none";
    EXPECT_EQ(destroyed_, 1);
    EXPECT_EQ(hipUserObjectRelease(next, 1), hipSuccess);
    EXPECT_EQ(destroyed_, 2);
}

TEST_F(UserObjects, LiveAsLongAsCopiesOfTheGraphAndGraphsMadeReadyOfIt) {
    void* const own = object(1);
    EXPECT_EQ(hipGraphRetainUserObject(graph_, own, 1, 1), hipSuccess);
    void *copy = nullptr, *ready = nullptr, *parent = nullptr, *node = nullptr;
    ASSERT_EQ(hipGraphClone(&copy, graph_), hipSuccess);
    ASSERT_EQ(hipGraphInstantiateWithFlags(&ready, graph_, 0), hipSuccess);
    ASSERT_EQ(hipGraphCreate(&parent, 0), hipSuccess);
    ASSERT_EQ(hipGraphAddChildGraphNode(&node, parent, nullptr, 0, graph_), hipSuccess);
    destroy_graph();
    EXPECT_EQ(hipGraphDestroy(copy), hipSuccess);
    EXPECT_EQ(hipGraphDestroy(parent), hipSuccess);
    EXPECT_EQ(hipGraphLaunch(ready, nullptr), hipSuccess);
    EXPECT_EQ(destroyed_, 0);
    EXPECT_EQ(hipGraphExecDestroy(ready), hipSuccess);
    EXPECT_EQ(destroyed_, 1);
}

TEST_F(UserObjects, RefuseWhatIsNone) {
    void *out = nullptr, *none = &out, *own = object(1);
    EXPECT_EQ(hipUserObjectCreate(nullptr, &destroyed_, count, 1, 1), hipErrorInvalidValue);
    EXPECT_EQ(hipUserObjectCreate(&out, &destroyed_, nullptr, 1, 1), hipErrorInvalidValue);
    EXPECT_EQ(hipUserObjectCreate(&out, &destroyed_, count, 0, 1), hipErrorInvalidValue);
    EXPECT_EQ(hipUserObjectCreate(&out, &destroyed_, count, 1, 0), hipErrorInvalidValue);
    for (void* bad : {static_cast<void*>(nullptr), none}) {
        EXPECT_EQ(hipUserObjectRetain(bad, 1), hipErrorInvalidValue);
        EXPECT_EQ(hipUserObjectRelease(bad, 1), hipErrorInvalidValue);
        EXPECT_EQ(hipGraphRetainUserObject(graph_, bad, 1, 0), hipErrorInvalidValue);
        EXPECT_EQ(hipGraphReleaseUserObject(graph_, bad, 1), hipErrorInvalidValue);
        EXPECT_EQ(hipGraphRetainUserObject(bad, own, 1, 0), hipErrorInvalidValue);
        EXPECT_EQ(hipGraphReleaseUserObject(bad, own, 1), hipErrorInvalidValue);
    }
    EXPECT_EQ(hipUserObjectRetain(own, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipUserObjectRelease(own, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphRetainUserObject(graph_, own, 0, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphRetainUserObject(graph_, own, 1, 2), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphReleaseUserObject(graph_, own, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipUserObjectRelease(own, 1), hipSuccess);
    EXPECT_EQ(destroyed_, 1);
}

}  // namespace
}  // namespace strata::hip::library
