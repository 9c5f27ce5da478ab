// Every program of this folder, compiled at every optimisation level for every machine, against its run on the host.
#include <gtest/gtest.h>

#include "harness/compare.h"
#include "harness/device_run.h"
#include "harness/host_run.h"
#include "strata/core/support/error.h"

namespace programs {
namespace {

std::vector<std::vector<uint8_t>> contents(Run& run) {
    std::vector<std::vector<uint8_t>> all;
    for (const Run::Region& region : run.regions) {
        all.emplace_back(region.bytes);
        run.read(all.back().data(), region.address, region.bytes);
    }
    return all;
}

void expect_no_failures(const Run& run) {
    for (const std::string& failure : run.failures) ADD_FAILURE() << failure;
}

void compare_with_host(const Machine& machine, const Program& program) {
    std::unique_ptr<Run> host = make_host_run(machine.wave);
    program.program(*host);
    expect_no_failures(*host);
    const auto wanted = contents(*host);
    for (const char* level : {"-O0", "-O1", "-O2", "-O3"}) {
        SCOPED_TRACE(level);
        auto code = compile(program.name, machine, level);
        ASSERT_TRUE(code) << code.error().message << "\n" << code.error().log;
        try {
            std::unique_ptr<Run> checked = make_device_run(machine, *code, strata::emu::Check::report);
            program.program(*checked);
            expect_no_failures(*checked);
            std::unique_ptr<Run> device = make_device_run(machine, *code);
            program.program(*device);
            expect_no_failures(*device);
            const auto got = contents(*device);
            ASSERT_EQ(got.size(), wanted.size());
            for (size_t i = 0; i < got.size(); ++i)
                EXPECT_EQ(difference(host->regions[i], got[i], wanted[i]), "") << "buffer " << i;
        } catch (const strata::Exception& e) {
            ADD_FAILURE() << e.what();
        }
    }
}

class Programs : public ::testing::TestWithParam<std::tuple<Machine, Program>> {};

TEST_P(Programs, On) { compare_with_host(std::get<0>(GetParam()), std::get<1>(GetParam())); }

INSTANTIATE_TEST_SUITE_P(, Programs, ::testing::Combine(::testing::ValuesIn(machines()), ::testing::ValuesIn(all())),
                         [](const auto& info) {
                             return std::string(std::get<0>(info.param).name) + "_" + std::get<1>(info.param).name;
                         });

}  // namespace
}  // namespace programs
