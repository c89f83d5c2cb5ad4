// What memory_model must do: the paper's bytes exactly, padding and all; and back from bytes to a model.
#include "exercises/07_zero/memory_model.hpp"

#include <limits>

#include "course/protocol/counted.hpp"
#include "tests/07_zero/model_bytes.hpp"

using namespace dist;
using namespace dist::harness;

TEST_CASE("memory_model has 16 bytes a parameter for adam in mixed precision: 2, 2 and 12") {
    on_ranks({1}, [](const Communicator&) {
        const Setting one{.n = 1};
        INFO(text_of(one));
        CHECK(right(one));
        const Setting some{.n = 1000};
        INFO(text_of(some));
        CHECK(right(some));
    });
}

TEST_CASE("memory_model gives the figure of the ZeRO paper: 120, 31.4, 16.6 and 1.9 GB") {
    on_ranks({1}, [](const Communicator&) {
        for (const ZeroStage stage : kStages) {
            const Setting paper{.n = 7'500'000'000, .p = 64, .stage = stage};
            INFO(text_of(paper));
            CHECK(right(paper));
        }
    });
}

TEST_CASE("memory_model knows what each optimizer keeps, in both precisions") {
    on_ranks({1}, [](const Communicator&) {
        for (const Precision precision : {fp32, mixed}) {
            for (const OptimizerKind optimizer : {sgd, momentum, adam}) {
                for (const int p : {1, 2}) {
                    const Setting s{21'282'122, p, ZeroStage::optimizer, precision, optimizer};
                    INFO(text_of(s) << ": this course's ResNet34");
                    CHECK(right(s));
                }
            }
        }
    });
}

TEST_CASE("memory_model fills the last shards up where p does not divide n") {
    on_ranks({1}, [](const Communicator&) {
        for (const std::size_t n : {0, 1, 2, 6, 7, 8, 9, 1000}) {
            for (const int p : {2, 3, 7, 8}) {
                for (const ZeroStage stage : kStages) {
                    const Setting s{.n = n, .p = p, .stage = stage};
                    INFO(text_of(s));
                    CHECK(right(s));
                }
            }
        }
    });
}

TEST_CASE("memory_model counts a trillion parameters on 1024 ranks") {
    on_ranks({1}, [](const Communicator&) {
        for (const ZeroStage stage : kStages) {
            const Setting s{.n = 1'000'000'000'000, .p = 1024, .stage = stage};
            INFO(text_of(s));
            CHECK(right(s));
        }
    });
}

TEST_CASE("memory_model counts more than 2^31 elements in a shard, and more than 2^53 in a model") {
    on_ranks({1}, [](const Communicator&) {
        constexpr std::size_t kMore = (std::size_t{1} << 53U) + 1;
        for (const ZeroStage stage : kStages) {
            for (const Setting& s :
                 {Setting{.n = (std::size_t{1} << 31U) + 1, .p = 1, .stage = stage},
                  Setting{.n = (std::size_t{1} << 33U) + 1, .p = 2, .stage = stage},
                  Setting{.n = kMore, .p = 1, .stage = stage},
                  Setting{.n = 2 * kMore + 1, .p = 2, .stage = stage},
                  Setting{.n = kMore, .p = 100'000, .stage = stage}}) {
                INFO(text_of(s));
                CHECK(right(s));
            }
        }
    });
}

TEST_CASE("both take a few operations for as many ranks as an int can count") {
    on_ranks({1}, [](const Communicator&) {
        for (const ZeroStage stage : kStages) {
            for (const std::size_t n : {std::size_t{1}, std::size_t{1} << 32U}) {
                const Setting s{.n = n, .p = std::numeric_limits<int>::max(), .stage = stage};
                INFO(text_of(s) << ": a loop over ranks takes seconds, and this test many of them");
                for (int time = 0; time < 100; ++time) {
                    REQUIRE(right(s));
                    REQUIRE(largest((std::size_t{1} << 34U) + n, s));
                }
            }
        }
    });
}

TEST_CASE("largest_model says how large a model may be on 64 ranks of 80 GB") {
    on_ranks({1}, [](const Communicator&) {
        for (const ZeroStage stage : kStages) {
            const Setting s{.p = 64, .stage = stage};
            INFO(text_of(s) << "; 80 GB each");
            CHECK(largest(80'000'000'000, s));
        }
    });
}

TEST_CASE("largest_model leaves no room for one parameter more, padding and all") {
    on_ranks({1}, [](const Communicator&) {
        for (const ZeroStage stage : kStages) {
            for (const Precision precision : {fp32, mixed}) {
                for (const OptimizerKind optimizer : {sgd, momentum, adam}) {
                    for (const int p : {1, 2, 3, 8}) {
                        for (std::size_t room = 0; room <= 300; ++room) {
                            const Setting s{0, p, stage, precision, optimizer};
                            INFO(text_of(s) << "; " << counted(room, "byte"));
                            REQUIRE(largest(room, s));
                        }
                    }
                }
            }
        }
    });
}

TEST_CASE("largest_model takes a few operations for a petabyte") {
    on_ranks({1}, [](const Communicator&) {
        for (const ZeroStage stage : kStages) {
            const Setting s{.p = 3, .stage = stage};
            INFO(text_of(s) << "; 10^15 bytes, and 2^60: a loop over sizes never ends");
            CHECK(largest(1'000'000'000'000'000, s));
            CHECK(largest((std::size_t{1} << 60U) - 1, s));
        }
    });
}

TEST_CASE("both refuse less than one rank") {
    on_ranks({1}, [](const Communicator& comm) {
        for (const ZeroStage stage : kStages) {
            for (const int p : {0, -1, std::numeric_limits<int>::min()}) {
                INFO(text_of({.p = p, .stage = stage}) << ": std::invalid_argument");
                const Answer model = answer(comm, [&] { memory_model(8, p, stage, mixed, adam); });
                CHECK(model.what == kInvalidArgument);
                const Answer largest =
                    answer(comm, [&] { largest_model(8, p, stage, mixed, adam); });
                CHECK(largest.what == kInvalidArgument);
            }
        }
    });
}
