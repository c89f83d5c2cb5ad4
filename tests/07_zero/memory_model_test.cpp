// What memory_model must do: the paper's bytes exactly, padding and all; and back from bytes to a model.
#include "exercises/07_zero/memory_model.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "course/protocol/counted.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/quick.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

using enum ZeroStage;

using enum Precision;

using enum OptimizerKind;

constexpr ZeroStage kStages[] = {
    ZeroStage::none, ZeroStage::optimizer, ZeroStage::gradients, ZeroStage::parameters};

const char* const kStageNames[] = {"none", "optimizer", "gradients", "parameters"};

const char* const kOptimizerNames[] = {"sgd", "momentum", "adam"};

struct Setting {
    std::size_t n = 0;
    int p = 1;
    ZeroStage stage = none;
    Precision precision = mixed;
    OptimizerKind optimizer = adam;
};

std::string text_of(const Setting& s) {
    std::ostringstream text;
    text << (s.n > 0 ? counted(s.n, "parameter") + ", " : "") << "p = " << s.p << ", stage "
         << kStageNames[static_cast<int>(s.stage)] << ", "
         << (s.precision == mixed ? "mixed" : "fp32") << ", "
         << kOptimizerNames[static_cast<int>(s.optimizer)];
    return text.str();
}

/// Bytes of an element: of parameters and of gradients, of master weights, and of what the optimizer keeps.
struct Each {
    std::size_t element;
    std::size_t master;
    std::size_t kept;
};

Each each_of(const Setting& s) {
    constexpr std::size_t kKept[] = {0, 4, 8};
    const bool is_mixed = s.precision == mixed;
    return {
        is_mixed ? std::size_t{2} : 4, is_mixed ? std::size_t{4} : 0,
        kKept[static_cast<int>(s.optimizer)]};
}

/// Elements that a rank holds of what is cut from stage `cut` on.
std::size_t held(const Setting& s, ZeroStage cut) {
    const auto p = static_cast<std::size_t>(s.p);
    const std::size_t shard = s.n / p + (s.n % p > 0 ? 1 : 0);
    return s.stage >= cut ? shard : s.stage == none ? s.n : p * shard;
}

/// What a type that is too small leaves; "" if `got` is not that.
std::string lost_bits(std::size_t got, std::size_t right) {
    if (got < right && static_cast<std::uint32_t>(got) == static_cast<std::uint32_t>(right)) {
        return "that overflowed: 32 bits hold less than 4.3 thousand million; count in std::size_t";
    }
    if (std::max(got, right) - std::min(got, right) <= right >> 50U) {
        return "that was rounded: a double has 53 bits; divide whole numbers";
    }
    return "";
}

/// One of the three parts: `each` bytes an element, of what is cut from stage `cut` on.
///
/// reason  of `each`.
Comparison part(
    const char* what,
    std::size_t got,
    std::size_t each,
    const std::string& reason,
    ZeroStage cut,
    const Setting& s
) {
    const auto p = static_cast<std::size_t>(s.p);
    const std::size_t elements = held(s, cut);
    const std::size_t right = each * elements;
    if (got == right) {
        return {};
    }
    const std::size_t shard = s.n / p + (s.n % p > 0 ? 1 : 0);
    const bool sharded = s.stage >= cut;
    std::ostringstream text;
    text << what << ": expected " << counted(right, "byte") << ", got " << got;
    const std::string overflow = lost_bits(got, right);
    if (!overflow.empty()) {
        text << ": " << overflow;
    } else if (sharded && (got == each * s.n || got == each * p * shard)) {
        text << ": that is all of it, and this stage shares it out";
    } else if (!sharded && got == each * s.n) {
        text << ": the row is as long as p shards, also where every rank holds all of it";
    } else if (!sharded && got == each * p * shard) {
        text << ": nothing is cut, so nothing is filled up";
    } else if (!sharded && got == each * shard) {
        text << ": that is a shard, and in this stage every rank holds all of it";
    } else if (got == each * (s.n / p)) {
        text << ": n / p is rounded down, the rest lies on no rank";
    } else if (got == each * s.n / p) {
        text << ": every shard has whole elements, and all are as long";
    } else if (elements > 0 && got % elements == 0) {
        text << ": " << counted(got / elements, "byte") << " an element, and it takes " << each
             << ": " << reason;
    }
    return {false, text.str()};
}

Comparison right(const Setting& s) {
    const auto [element, master, kept] = each_of(s);
    const std::string keeps = std::to_string(master) + " for master weights, " +
                              std::to_string(kept) + " that " +
                              kOptimizerNames[static_cast<int>(s.optimizer)] + " keeps";
    const std::string width = s.precision == mixed ? "bfloat16 or float16" : "float32";
    const ModelStates got = memory_model(s.n, s.p, s.stage, s.precision, s.optimizer);
    for (const Comparison& result :
         {part("parameters", got.parameters, element, width, ZeroStage::parameters, s),
          part("gradients", got.gradients, element, width, ZeroStage::gradients, s),
          part("optimizer", got.optimizer, master + kept, keeps, ZeroStage::optimizer, s)}) {
        if (!result) {
            return result;
        }
    }
    return {};
}

/// What s.n parameters take, counted here: largest_model is held against this, not against memory_model.
std::size_t total_of(const Setting& s) {
    const auto [element, master, kept] = each_of(s);
    return element * held(s, ZeroStage::parameters) + element * held(s, ZeroStage::gradients) +
           (master + kept) * held(s, ZeroStage::optimizer);
}

/// Is it the most that has room?
Comparison largest(std::size_t room, Setting s) {
    const std::size_t got = largest_model(room, s.p, s.stage, s.precision, s.optimizer);
    s.n = s.stage == none ? 1 : static_cast<std::size_t>(s.p);
    const std::size_t right = room / total_of(s) * s.n;
    if (got == right) {
        return {};
    }
    std::string text = "expected " + counted(right, "parameter") + ", got " + std::to_string(got);
    const std::string overflow = lost_bits(got, right);
    if (!overflow.empty()) {
        text += ": " + overflow;
    } else if (got < right) {
        text += ": " + std::to_string(right - got) + " more have room";
    }
    return {false, text};
}

}  // namespace

TEST_CASE("memory_model has 16 bytes a parameter for adam in mixed precision: 2, 2 and 12") {
    on_ranks({1}, [](const Communicator&) {
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
                const Setting s{21'282'122, 2, ZeroStage::optimizer, precision, optimizer};
                INFO(text_of(s) << ": this course's ResNet34");
                CHECK(right(s));
            }
        }
    });
}

TEST_CASE("memory_model fills the last shards up where p does not divide n") {
    on_ranks({1}, [](const Communicator&) {
        for (const std::size_t n : {0, 1, 6, 7, 8, 9, 1000}) {
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

TEST_CASE("memory_model counts more than 2^31 elements in a shard, and more than 2^53 in a model") {
    on_ranks({1}, [](const Communicator&) {
        constexpr std::size_t kMore = (std::size_t{1} << 53U) + 1;
        for (const ZeroStage stage : kStages) {
            for (const Setting& s :
                 {Setting{.n = (std::size_t{1} << 31U) + 1, .p = 1, .stage = stage},
                  Setting{.n = (std::size_t{1} << 33U) + 1, .p = 2, .stage = stage},
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
            const Setting s{.n = 1'000, .p = std::numeric_limits<int>::max(), .stage = stage};
            INFO(text_of(s));
            REQUIRE(takes_a_few_operations("p", [&] {
                memory_model(s.n, s.p, stage, mixed, adam);
                largest_model(s.n, s.p, stage, mixed, adam);
            }));
            CHECK(right(s));
            CHECK(largest(std::size_t{1} << 34U, s));
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
            INFO(text_of(s) << "; 10^9 bytes, 10^15, and 2^60: a loop over sizes never ends");
            REQUIRE(takes_a_few_operations("the sizes", [&] {
                largest_model(1'000'000'000, s.p, stage, mixed, adam);
            }));
            CHECK(largest(1'000'000'000'000'000, s));
            CHECK(largest((std::size_t{1} << 60U) - 1, s));
        }
    });
}

TEST_CASE("both refuse less than one rank") {
    on_ranks({1}, [](const Communicator& comm) {
        for (const ZeroStage stage : kStages) {
            for (const int p : {0, -1}) {
                INFO(text_of({.p = p, .stage = stage}) << ": std::invalid_argument");
                CHECK(answer(comm, [&] {
                          memory_model(8, p, stage, mixed, adam);
                      }).what == kInvalidArgument);
                CHECK(answer(comm, [&] {
                          largest_model(8, p, stage, mixed, adam);
                      }).what == kInvalidArgument);
            }
        }
    });
}
