// What compressed_gradients must do: half the bytes, two roundings alone, and nothing lost over many passes.
#include "exercises/06_ddp/compressed_gradients.hpp"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/06_ddp/backward.hpp"
#include "tests/harness/words/memory.hpp"
#include "tests/harness/words/patterns.hpp"
#include "tests/harness/words/reductions.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/text.hpp"
#include "tests/harness/words/zoo.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"}, "what ranks exchange goes through your own all_to_all and ring_all_gather"
);

/// Sums of the inputs need 7 bits: bfloat16 holds them.
const Attempt kAttempt{
    .name = "compressed_all_reduce",
    .before = contribution,
    .call =
        [](Buffers& b, const Call& c, const Communicator& comm) {
            const auto n = static_cast<std::int64_t>(c.n);
            compressed_all_reduce(at::from_blob(b.data.data(), {n}, at::kFloat), comm);
        },
    .outcome =
        [](const Buffers& b, const Call& c, const Communicator& comm) {
            const auto own = input(c.n, comm.rank(), c.salt);
            return same(
                b.data, reduced_input(c.n, comm.size(), ReduceOp::sum, c.salt), 0,
                {{own, "that is this rank's own contribution: it met no other"}}
            );
        }};

Cost half_of_ring(const Call& call, const Communicator& comm) {
    const long steps = 2L * (comm.size() - 1);
    const long numbers = ceil_div(call.n, comm.size()) + 1;
    return {.messages_sent = at_most(steps), .bytes_sent = at_most(2 * steps * numbers)};
}

/// Whole numbers of up to 2^21, of up to 12 bits, with signs.
at::Tensor numbers(int rank) {
    const at::Tensor x = filled({1000}, rank, 1);
    const at::Tensor cubes = x.mul(x).mul(x);
    return cubes.mul(cubes).mul(filled({1000}, rank, 2));
}

/// 40 elements: `mine` at index i on rank i mod p, `others` on the others; minus that where i is odd.
at::Tensor by_turns(float mine, float others, const Communicator& comm) {
    const at::Tensor row = at::full({40}, others, at::kFloat);
    for (int i = comm.rank(); i < 40; i += comm.size()) {
        row[i] = mine;
    }
    row.view({20, 2}).select(1, 1).neg_();
    return row;
}

/// Whether `row` is `expected` at an even index, or `wrong`; minus that where it is odd.
Comparison is(
    const at::Tensor& row, float expected, float wrong, const char* sentence, double tolerance = 0
) {
    const at::Tensor positive = row.clone();
    positive.view({20, 2}).select(1, 1).neg_();
    const auto all = [](float value) { return std::vector<float>(40, value); };
    return same(elements(positive), all(expected), tolerance, {{all(wrong), sentence}});
}

constexpr float kSeen = 1 + 0x1p-9F;  // bfloat16 has 1, and next 1 + 2^-7
constexpr int kPasses = 32;

/// Whether passes bring out what went in, but for the last rounding. `call` calls the hook.
void loses_nothing(
    const std::vector<int>& worlds,
    const std::string& how = "",
    const std::function<void(const CommHook&, const at::Tensor&)>& call =
        [](const CommHook& hook, const at::Tensor& flat) { hook(flat); }
) {
    on_ranks(worlds, [&](const Communicator& comm) {
        const CommHook hook = error_feedback_hook(comm);
        const at::Tensor gradient = by_turns(kSeen, 0, comm);
        const at::Tensor flat = at::zeros({40}, at::kFloat);
        const at::Tensor total = at::zeros({40}, at::kFloat);
        for (int i = 0; i < kPasses; ++i) {
            call(hook, flat.copy_(gradient));
            total.add_(flat);
        }
        INFO(kPasses << " passes with 1 + 2^-9 from one rank for each element" << how);
        const char* all_lost = "every pass lost 2^-9: add that to the next contribution";
        CHECK(is(total, kPasses * kSeen, kPasses, all_lost, 0x1p-8 / kPasses));
    });
}

}  // namespace

TEST_CASE("compressed_all_reduce gives the exact sum where bfloat16 holds it, for every length") {
    every_length(kAttempt);
}

TEST_CASE("its error is within the bound, and every rank has the same bits") {
    on_ranks(kWorlds, [](const Communicator& comm) {
        const at::Tensor flat = numbers(comm.rank());
        at::Tensor sum = at::zeros({1000}, at::kDouble);
        at::Tensor magnitudes = at::zeros({1000}, at::kDouble);
        for (int rank = 0; rank < comm.size(); ++rank) {
            sum.add_(numbers(rank));
            magnitudes.add_(numbers(rank).abs());
        }
        compressed_all_reduce(flat, comm);
        CHECK(same_on_all_ranks(elements(flat), comm));
        const at::Tensor errors = sum.sub(flat).div(magnitudes).mul(128);
        INFO("errors in units of 2^-7 (|x_0| + ... + |x_(p-1)|): from -1 to 1");
        CHECK(same(elements(errors.to(at::kFloat)), std::vector<float>(1000), 1));
    });
}

TEST_CASE("each contribution and the sum are rounded to the nearest, once") {
    on_ranks(kWorlds, [](const Communicator& comm) {
        const auto others = static_cast<float>(comm.size() - 1);
        const auto rounded = [](float x) {
            return at::full({}, x, at::kFloat).to(at::kBFloat16).item<float>();
        };
        const at::Tensor own = by_turns(1 + 0x3p-9F, 0, comm);
        const at::Tensor once = by_turns(256, 1, comm);
        const at::Tensor sum = by_turns(256, 1.8125F, comm);
        for (const at::Tensor& flat : {own, once, sum}) {
            compressed_all_reduce(flat, comm);
        }
        const float cut = 256 + 2 * std::floor(1.8125F / 2 * others);
        INFO("one rank of " << comm.size() << " has 1 + 3 * 2^-9, 256, 256");
        INFO("each other has 0, 1, 1.8125; or all of them minus that");
        CHECK(is(own, 1 + 0x1p-7F, 1, "the last 16 bits were cut off, not rounded"));
        CHECK(
            is(once, rounded(256 + others), 256, "as if added up in bfloat16, where 256 + 1 is 256")
        );
        CHECK(
            is(sum, rounded(256 + 1.8125F * others), cut, "as if the sum's last bits were cut off")
        );
    });
}

TEST_CASE("compressed_all_reduce sends half of what ring_all_reduce sends") {
    costs(kAttempt, half_of_ring, "each rank adds up a chunk of its own, in numbers of 2 bytes");
}

TEST_CASE("two calls may follow each other, and groups of ranks call it at the same time") {
    two_in_a_row(kAttempt);
    on_other_communicators(kAttempt);
}

TEST_CASE("a message that fails is an error, and comes out of both hooks") {
    reports_failures(kAttempt);
    for (const auto make : {compressed_hook, error_feedback_hook}) {
        reports_failures([make](const Communicator& comm) {
            make(comm)(at::full({7}, 1, at::kFloat)).get();
        });
    }
}

TEST_CASE("what is no contiguous row of float32 is refused before any message") {
    on_ranks({3, 1}, [](const Communicator& comm) {
        const at::Tensor matrix = at::full({4, 2}, -0.0, at::kFloat);
        const at::Tensor row = matrix.select(0, 0);
        const std::pair<const char*, at::Tensor> wrong[] = {
            {"a matrix", matrix},
            {"a column of a matrix", matrix.select(1, 0)},
            {"a matrix of one column", row.view({2, 1})},
            {"a number without dimensions", row[0]},
            {"a row whose elements are one and the same", row.narrow(0, 0, 1).expand({4})},
            {"a row of doubles", row.to(at::kDouble)},
            {"a row of whole numbers of 4 bytes", row.to(at::kInt)}};
        for (const auto& [name, flat] : wrong) {
            for (const auto& call : std::vector<std::function<void()>>{
                     [&] { compressed_all_reduce(flat, comm); },
                     [&] { compressed_hook(comm)(flat).get(); },
                     [&] { error_feedback_hook(comm)(flat).get(); }}) {
                const std::string what = text(name, ", by compressed_all_reduce and by each hook");
                refuses(comm, what, call, as_now({flat}));
            }
        }
    });
}

TEST_CASE("the neighbours of a part of a row stay as they are") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        const at::Tensor whole = at::full({9}, 1, at::kFloat);
        compressed_all_reduce(whole.narrow(0, 3, 3), comm);
        const auto p = static_cast<float>(comm.size());
        INFO("9 elements, of which 3 in the middle were to be added up");
        CHECK(same(elements(whole), std::vector<float>{1, 1, 1, p, p, p, 1, 1, 1}));
    });
}

TEST_CASE("both hooks leave the sum, which is there when they return") {
    on_ranks(kWorlds, [](const Communicator& comm) {
        for (const auto make : {compressed_hook, error_feedback_hook}) {
            const int p = comm.size();
            const at::Tensor flat = filled({7}, comm.rank(), 1).abs_();
            const auto own = elements(flat);
            const at::Tensor all = at::zeros({7}, at::kFloat);
            for (int rank = 0; rank < p; ++rank) {
                all.add_(filled({7}, rank, 1).abs_());
            }
            const auto expected = elements(all);
            const Traffic traffic = record(comm, [&] { make(comm)(flat); });
            const std::future<void> done = make(comm)(at::zeros({0}, at::kFloat));
            const Comparison sum = same(
                elements(flat), expected, 0x1p-7,
                {{own, "that is this rank's own: the sum has to be there at once"},
                 {scaled(expected, 1 / static_cast<float>(p)),
                  "that is the mean of these: the Reducer has divided by p already"}}
            );
            const Comparison spent = within(traffic, half_of_ring({.n = 7}, comm));
            CHECK(sum);
            CHECK(spent);
            INFO("the future that it returned: has it a value?");
            REQUIRE(done.valid());
            CHECK(done.wait_for(std::chrono::seconds(3)) == std::future_status::ready);
        }
    });
}

TEST_CASE("with error feedback nothing is lost over many passes") {
    loses_nothing(kWorlds);
}

TEST_CASE("copies of a hook share their residuals") {
    loses_nothing(
        {3, 1, 2}, ", each through a new copy of the hook",
        [](const CommHook& hook, const at::Tensor& flat) { CommHook{hook}(flat); }
    );
}

TEST_CASE("each tensor has a residual of its own, whatever its length and whoever names it") {
    std::vector<at::Tensor> others;
    at::Tensor name;
    const auto call = [&](const CommHook& hook, const at::Tensor& flat) {
        hook(name = flat);
        for (const at::Tensor& other : others) {
            hook(name = other);
        }
    };
    others = {at::zeros({40}, at::kFloat)};
    loses_nothing({3, 1, 2}, ", and zeros in another tensor between them", call);
    for (int i = 0; i < 16; ++i) {
        others.push_back(at::zeros({1}, at::kFloat));
    }
    loses_nothing({1}, ", and zeros in 17 other tensors between them", call);
}

TEST_CASE("two hooks do not share residuals, not even of the same tensor") {
    on_ranks({3, 1}, [](const Communicator& comm) {
        const CommHook hooks[] = {error_feedback_hook(comm), error_feedback_hook(comm)};
        const at::Tensor flat = at::zeros({40}, at::kFloat);
        hooks[0](flat.copy_(by_turns(kSeen, 0, comm)));
        hooks[0](flat.copy_(by_turns(kSeen, 0, comm)));
        hooks[1](flat.copy_(by_turns(kSeen, 0, comm)));
        INFO("1 + 2^-9 twice by one hook, then once by another one, in the same tensor");
        CHECK(is(flat, 1, 1 + 0x1p-7F, "as if the second had what the first hook lost"));
    });
}

TEST_CASE("a message that fails leaves the residuals as they were") {
    on_ranks({3, 2}, [](const Communicator& comm) {
        const CommHook hook = error_feedback_hook(comm);
        const at::Tensor flat = at::zeros({40}, at::kFloat);
        const auto call = [&] {
            return answer(comm, [&] { hook(flat.copy_(by_turns(kSeen, 0, comm))).get(); });
        };
        call();
        Answer failed;
        {
            const FailingMessages failing;
            failed = call();
        }
        const Answer next = call();
        INFO("1 + 2^-9 three times, of which the second was not sent: 2^-9 is kept from the first");
        CHECK(failed.what == kError);
        CHECK(next.what == kReturned);
        CHECK(is(flat, 1, 1 + 0x1p-7F, "as if what failed had been sent: its 2^-9 is kept as well")
        );
    });
}

TEST_CASE("a tensor that is gone leaves nothing to another one in its memory, and takes none") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        const CommHook hook = error_feedback_hook(comm);
        const at::Tensor memory = at::zeros({40}, at::kFloat);
        for (int i = 0; i < 3; ++i) {
            memory.copy_(by_turns(kSeen, 0, comm));
            hook(memory.view({40}));  // a tensor that is gone after the call
        }
        const Memory taken = memory_of(comm, [&] {
            for (int i = 0; i < 50; ++i) {
                hook(at::zeros({10'000}, at::kFloat));
            }
        });
        INFO("three tensors in turn, in one piece of memory: each begins with a residual of zeros");
        CHECK(is(memory, 1, 1 + 0x1p-7F, "as if the third had what the others lost"));
        INFO("50 tensors of 40 kB, each gone when the next one came");
        CHECK(taken.peak_bytes < 1'000'000);
    });
}

TEST_CASE("error feedback keeps as much memory as the gradients have, and no more") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        const CommHook hook = error_feedback_hook(comm);
        const std::vector<at::Tensor> flats = {
            at::zeros({100'000}, at::kFloat), at::zeros({50'000}, at::kFloat)};
        const MemoryBefore before;
        for (int pass = 0; pass < 2; ++pass) {
            hook(flats[0]);
            hook(flats[1]);
        }
        const long kept = before.all_since();
        INFO("residuals of 150000 elements: " << kept << " bytes are kept, where 600000 are right");
        CHECK(kept <= 600'000 + kDescriptions);
    });
}

TEST_CASE("NaN and infinity come out on every rank, and error feedback forgets them") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        const CommHook hook = error_feedback_hook(comm);
        // of the bits of a NaN the last 16 may be all that tells it from infinity
        const auto nan = [](std::uint32_t bits) { return std::bit_cast<float>(bits); };
        const std::vector<float> first = {
            nan(0x7F800001),
            nan(0x7FFFFFFF),
            nan(0xFF800001),
            nan(0xFFFFFFFF),
            INFINITY,
            -INFINITY,
            INFINITY,
            std::numeric_limits<float>::max(),
            std::numeric_limits<float>::lowest()};
        std::vector<float> data = comm.rank() == 0 ? first : std::vector<float>(9, 1);
        if (comm.rank() != 0) {
            data[6] = -INFINITY;
        }
        const at::Tensor flat = filled({9}, data);
        compressed_all_reduce(flat, comm);
        const std::vector<float> sums = elements(flat);
        const Comparison alike = same_on_all_ranks(sums, comm);
        std::ranges::copy(data, flat.data_ptr<float>());
        hook(flat);
        hook(flat.fill_(1));
        INFO("rank 0 has four NaNs, two of them negative; infinity; -infinity; all others have 1");
        for (std::size_t i = 0; i < 4; ++i) {
            INFO("index " << i);
            CHECK(std::isnan(sums[i]));
        }
        CHECK(sums[4] == INFINITY);
        CHECK(sums[5] == -INFINITY);
        INFO("infinity on rank 0, -infinity on all others");
        CHECK((comm.size() == 1 ? sums[6] == INFINITY : std::isnan(sums[6])));
        CHECK(alike);
        INFO(
            "then 1 everywhere: what is not finite, or is not when it is rounded, leaves no "
            "residual"
        );
        CHECK(same(elements(flat), std::vector<float>(9, static_cast<float>(comm.size()))));
    });
}

TEST_CASE("a Reducer's second plan begins with zeros, and loses nothing after that") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        const Model model({2, 2, 2});
        Reducer reducer(model.parameters, {1}, error_feedback_hook(comm), comm);
        const float own = comm.rank() == 0 ? kSeen * static_cast<float>(comm.size()) : 0;
        std::vector<float> total(6);
        for (int i = 0; i < kPasses; ++i) {
            forget_gradients(model.parameters);
            reducer.prepare_for_backward();
            model.backward({0, 1, 2}, {own, 0, 0});
            reducer.finalize_backward();
            accumulate(model.each_gradient(), total, ReduceOp::sum);
        }
        const float all = kPasses * kSeen;
        INFO("rank 0 has 1 + 2^-9 for parameter 0: once in the last bucket, then in the first");
        INFO("the new plan may lose what the first pass left; all others lose nothing");
        CHECK(same(total, std::vector<float>{all, all, 0, 0, 0, 0}, 0x1.8p-8 / kPasses));
    });
}

TEST_CASE("compressed_gradients is right on 11 ranks", "[many]") {
    on_many_ranks(kAttempt);
    loses_nothing({11});
}
