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

ModelStates states(const Setting& s) {
    return memory_model(s.n, s.p, s.stage, s.precision, s.optimizer);
}

/// What a type that is too small leaves of each * elements; "" if `got` is not that.
std::string lost_bits(std::size_t got, std::size_t each, std::size_t elements) {
    const auto product = [each](std::size_t n) { return each * n; };
    const auto in_32_bits = [](std::size_t n) { return static_cast<std::uint32_t>(n); };
    const auto in_31_bits = [](std::size_t n) {
        return static_cast<std::size_t>(static_cast<std::int32_t>(n));
    };
    if (got == in_32_bits(product(elements)) || got == product(in_32_bits(elements)) ||
        got == in_31_bits(product(elements)) || got == product(in_31_bits(elements))) {
        return "that overflowed: 32 bits hold less than 4.3 thousand million; count in std::size_t";
    }
    constexpr std::size_t kExact = std::size_t{1} << 53U;
    const std::size_t off = std::max(got, product(elements)) - std::min(got, product(elements));
    if (product(elements) > kExact && off <= each * (elements / kExact + 1) * 4) {
        return "that was rounded: a double has 53 bits; divide whole numbers";
    }
    return "";
}

/// One of the three parts: `each` bytes an element, of all parameters or of a shard.
///
/// reason  of `each`.
Comparison part(
    const char* what,
    std::size_t got,
    std::size_t each,
    const std::string& reason,
    bool sharded,
    const Setting& s
) {
    const auto p = static_cast<std::size_t>(s.p);
    const std::size_t shard = s.n / p + (s.n % p > 0 ? 1 : 0);
    const std::size_t row = s.stage == none ? s.n : p * shard;
    const std::size_t elements = sharded ? shard : row;
    const std::size_t right = each * elements;
    if (got == right) {
        return {};
    }
    std::ostringstream text;
    text << what << ": expected " << counted(right, "byte") << ", got " << got;
    const std::string overflow = lost_bits(got, each, elements);
    if (!overflow.empty()) {
        text << ": " << overflow;
    } else if (sharded && (got == each * s.n || got == each * row)) {
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

Comparison right(const Setting& s) {
    const auto [element, master, kept] = each_of(s);
    const std::string keeps = std::to_string(master) + " for master weights, " +
                              std::to_string(kept) + " that " +
                              kOptimizerNames[static_cast<int>(s.optimizer)] + " keeps";
    const std::string width = s.precision == mixed ? "bfloat16 or float16" : "float32";
    const auto shared = [&](ZeroStage stage) { return s.stage >= stage; };
    const ModelStates got = states(s);
    for (const Comparison& result :
         {part("parameters", got.parameters, element, width, shared(ZeroStage::parameters), s),
          part("gradients", got.gradients, element, width, shared(ZeroStage::gradients), s),
          part(
              "optimizer", got.optimizer, master + kept, keeps, shared(ZeroStage::optimizer), s
          )}) {
        if (!result) {
            return result;
        }
    }
    return {};
}

/// What n parameters take, counted here: largest_model is held against this, not against memory_model.
std::size_t total_of(std::size_t n, const Setting& s) {
    const auto [element, master, kept] = each_of(s);
    const auto p = static_cast<std::size_t>(s.p);
    const std::size_t shard = n / p + (n % p > 0 ? 1 : 0);
    const auto held = [&](ZeroStage stage) {
        return s.stage >= stage ? shard : s.stage == none ? n : p * shard;
    };
    return element * held(ZeroStage::parameters) + element * held(ZeroStage::gradients) +
           (master + kept) * held(ZeroStage::optimizer);
}

/// Is it the most that has room?
Comparison largest(std::size_t room, const Setting& s) {
    const std::size_t n = largest_model(room, s.p, s.stage, s.precision, s.optimizer);
    const std::size_t together = s.stage == none ? 1 : static_cast<std::size_t>(s.p);
    const std::size_t right = room / total_of(together, s) * together;
    if (n == right) {
        return {};
    }
    std::string text =
        "expected " + counted(right, "parameter") + ", got " + std::to_string(n) + ": ";
    const std::string overflow = lost_bits(n, 1, right);
    if (!overflow.empty()) {
        text += overflow;
    } else if (n < right) {
        text += std::to_string(right - n) + " more have room, in " +
                counted(total_of(right, s), "byte");
    } else if (n / 2 <= right) {
        text += "they take " + counted(total_of(n, s), "byte");
    } else {
        text += "far too many have room; was a number too large for its type?";
    }
    return {false, text};
}

}  // namespace

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
