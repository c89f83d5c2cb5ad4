// What snapshot must do: a step waits for a copy, a thread writes it, and whatever happens one snapshot is there, whole.
// Ranks come late here, and not after a time: a wrong answer is known by who waits for whom.
#include "exercises/10_elastic/snapshot.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <optional>
#include <span>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "course/runtime/communicator.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "tests/07_zero/checkpoints.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/memory.hpp"
#include "tests/harness/words/shared_room.hpp"
#include "tests/harness/words/text.hpp"
#include "tests/harness/words/this_process.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

constexpr std::int64_t kWeights = 12;

/// Weights [begin, end): number k is 1000 step + k.
at::Tensor weights_of(std::int64_t step, std::int64_t begin = 0, std::int64_t end = kWeights) {
    return at::arange(1000 * step + begin, 1000 * step + end, at::kFloat);
}

/// Weights, which are cut for the ranks, what an optimizer has of them (minus the weight), and extra bytes; and their snapshots.
struct Training {
    const Communicator& comm;
    fs::path folder;
    Snapshots snapshots;
    Parts parts = {};
    std::array<std::int64_t, 2> extra = {};  // the step, and the rank

    explicit Training(const Communicator& all, const fs::path& its = {})
        : comm(all), folder(its.empty() ? empty_folder(all) : its), snapshots(folder, comm) {
        const std::int64_t begin = kWeights * comm.rank() / comm.size();
        const std::int64_t end = kWeights * (comm.rank() + 1) / comm.size();
        for (const char* name : {"w", "optimizer.w"}) {
            parts.push_back({name, kWeights, begin, at::ones({end - begin})});
        }
    }

    [[nodiscard]] std::span<const std::byte> bytes() const {
        return std::as_bytes(std::span(extra));
    }

    /// Changes all of it, in its place.
    void goes_to(std::int64_t step) {
        const std::int64_t begin = parts[0].begin;
        const at::Tensor weights = weights_of(step, begin, begin + parts[0].data.numel());
        parts[0].data.copy_(weights);
        parts[1].data.copy_(weights.neg());
        extra = {step, comm.rank()};
    }

    void is_taken(std::int64_t step) {
        goes_to(step);
        snapshots.take(step, parts, bytes());
    }

    void is_written(std::int64_t step) {
        is_taken(step);
        snapshots.wait();
        barrier(comm);
    }
};

/// The weights of a step, and what the optimizer has of them.
std::vector<float> all_of(std::int64_t step) {
    const at::Tensor weights = weights_of(step);
    return elements(at::cat({weights, weights.neg()}));
}

/// What a call throws on this rank. Calls of Snapshots are no business of record(): their thread may be under way.
Answer tried(const std::function<void()>& call) {
    try {
        call();
    } catch (const NotImplemented&) {
        throw;
    } catch (const Error& error) {
        return {kError, error.what(), {}};
    } catch (const std::exception& error) {
        return {"std::runtime_error", error.what(), {}};
    }
    return {kReturned, {}, {}};
}

/// Every rank loads the whole: all of it is the snapshot of this step.
void check_snapshot(const fs::path& folder, std::int64_t step, const Communicator& comm) {
    INFO("now the folder must have the snapshot of step " << step);
    const at::Tensor all = at::full({2 * kWeights}, -1, at::kFloat);
    const Parts wanted = {
        {"w", kWeights, 0, all.narrow(0, 0, kWeights)},
        {"optimizer.w", kWeights, 0, all.narrow(0, kWeights, kWeights)}};
    std::array<std::int64_t, 2> extra = {-1, -1};
    std::int64_t loaded = -1;
    const Answer got = tried([&] {
        loaded = load_snapshot(folder, wanted, std::as_writable_bytes(std::span(extra)), comm);
    });
    {
        INFO("there must be a snapshot that can be loaded. " << got.text);
        REQUIRE(got.what == kReturned);
    }
    {
        INFO(
            "the weights, number k is 1000 step + k, and then what the optimizer keeps, minus those"
        );
        const std::string other = text("they are of another snapshot than the step, ", loaded);
        CHECK(same(
            elements(all), all_of(loaded), 0.0,
            {{all_of(loaded - 1), other}, {all_of(loaded + 1), other}}
        ));
    }
    {
        INFO("the extra bytes are rank 0's, and of the step that the weights are of");
        CHECK(text("step ", extra[0], ", rank ", extra[1]) == text("step ", loaded, ", rank 0"));
    }
    CHECK(loaded == step);
}

/// Rank `early` makes a call alone. The others go on when it has returned, or waits: it slept for so long that nothing would wake it
/// up, or did not return for longer. Returns whether it waits; `look` is called before the others go on.
bool waits_alone(
    const Communicator& comm,
    int early,
    const std::function<void()>& call,
    const std::function<void()>& look = [] {}
) {
    auto& word = *static_cast<std::atomic<int>*>(shared_room("word", sizeof(std::atomic<int>)));
    on_rank_0(comm, [&] { word = 0; });
    if (comm.rank() != early) {
        becomes_true([&] { return word != 0; }, std::chrono::minutes(1));
        return word == 1;
    }
    std::atomic<bool> has_returned = false;
    const auto watch = [&, caller = std::to_string(gettid())] {
        std::string before;
        for (int turn = 0, asleep = 0; turn < 700 && asleep < 200 && !has_returned; ++turn) {
            nap(1);
            const std::string naps = thread_status(caller, "voluntary_ctxt_switches");
            const bool sleeps = naps == before && thread_status(caller, "State") == "S";
            asleep = sleeps ? asleep + 1 : 0;
            before = naps;
        }
        const bool waits = !has_returned;
        look();
        word = waits ? 1 : 2;
    };
    auto watched = std::async(std::launch::async, watch);
    call();
    has_returned = true;
    watched.get();
    return word == 1;
}

const Forbid kForbid(
    {"collectives"}, "This exercise stands on your own ring_all_reduce and sharded_checkpoint."
);

}  // namespace

TEST_CASE("what p ranks have taken, q ranks load: step, parts and extra bytes, for p, q from 1 to 4"
) {
    on_ranks({4}, [](const Communicator& comm) {
        const fs::path folder = empty_folder(comm);
        for (const int p : {2, 3, 1, 4}) {
            on_first(p, comm, [&](const Communicator& some) {
                Training training(some, folder);
                training.is_written(20 + p);
                training.is_written(p);
            });
            for (const int q : {2, 3, 1, 4}) {
                on_first(q, comm, [&](const Communicator& some) {
                    INFO("taken by " << p << " ranks, loaded by " << some.size());
                    check_snapshot(folder, p, some);
                });
            }
        }
    });
}

TEST_CASE("take returns though no other rank has come, and all it was given may be changed then") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        for (int early = 0; early < comm.size(); ++early) {
            Training training(comm);
            const auto take = [&] {
                training.is_taken(1);
                training.goes_to(2);
            };
            const bool waited = waits_alone(comm, early, take);
            std::vector<float> other = input(100, comm.rank(), 5);
            if (!waited) {
                ring_all_reduce(other, ReduceOp::sum, comm);
            }
            if (comm.rank() != early) {
                take();
            }
            training.snapshots.wait();
            INFO("rank " << early << " takes step 1 and changes all; then the other ranks take it");
            {
                INFO("take() waits for what other ranks have not done yet: only the thread may");
                REQUIRE_FALSE(waited);
            }
            check_snapshot(training.folder, 1, comm);
            INFO("the training's ring_all_reduce, while the thread of rank " << early << " waits");
            CHECK(same(other, reduced_input(100, comm.size(), ReduceOp::sum, 5)));
        }
    });
}

TEST_CASE("the thread's messages have a communicator of their own, and are a few") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        const fs::path folder = empty_folder(comm);
        std::optional<Snapshots> snapshots;
        const Traffic made = record(comm, [&] { snapshots.emplace(folder, comm); });
        {
            INFO("communicators that the constructor makes");
            CHECK(made.communicators >= 1);
        }
        const at::Tensor data = at::ones({10'000});
        const Parts parts = {{"w", 10'000 * comm.size(), 10'000 * comm.rank(), data}};
        const std::vector<std::byte> extra(10'000);
        const Traffic traffic = record(comm, [&] {
            snapshots->take(1, parts, extra);
            snapshots->wait();
        });
        INFO("each rank saves 40000 bytes, and rank 0 another 10000 beside them: none is sent");
        const Comparison few =
            within(traffic, {.messages_sent = at_most(100), .bytes_sent = at_most(500)});
        CHECK(few);
    });
}

TEST_CASE("the next take waits until the snapshot before is written, and no two are mixed") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        for (int early = 0; early < comm.size(); ++early) {
            Training training(comm);
            if (comm.rank() == early) {
                training.is_taken(1);
            }
            const bool waited = waits_alone(comm, early, [&] { training.is_taken(2); });
            if (comm.rank() != early) {
                training.is_taken(1);
            }
            barrier(comm);  // take() of step 2 has returned
            INFO("rank " << early << " takes steps 1 and 2; then the others take step 1");
            {
                INFO("take() of step 2 must wait: the others have not written step 1");
                REQUIRE(waited);  // or who has taken what is not known
            }
            check_snapshot(training.folder, 1, comm);
            if (comm.rank() != early) {
                training.is_taken(2);
            }
            for (std::int64_t step = 3; step < 6; ++step) {
                training.is_taken(step);
            }
            training.snapshots.wait();
            check_snapshot(training.folder, 5, comm);
        }
    });
}

TEST_CASE("what cannot be written is an error of the next take or wait, on all ranks, once") {
    on_ranks({1, 3, 2}, [](const Communicator& comm) {
        for (int i = 0; i < 2 * comm.size(); ++i) {
            const bool of_take = i % 2 == 0;
            const int full = i / 2;
            Training training(comm);
            training.is_written(1);
            Answer got;
            {
                std::optional<FullDisk> disk;
                if (comm.rank() == full) {
                    disk.emplace(100);
                }
                training.is_taken(2);
                got = tried([&] { of_take ? training.is_taken(3) : training.snapshots.wait(); });
            }
            INFO("rank " << full << "'s disk is full; then " << (of_take ? "take" : "wait"));
            check_thrown(got, "File too large", comm);
            {
                INFO("an error comes out once, and the take() that throws it has taken nothing");
                const Answer again = tried([&] { training.snapshots.wait(); });
                CHECK(again.what == kReturned);
                barrier(comm);
                check_snapshot(training.folder, 1, comm);
            }
            training.is_written(4);
            check_snapshot(training.folder, 4, comm);
        }
    });
}

TEST_CASE("a message that fails is the error that save_sharded throws: a dist::Error") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        Training training(comm);
        training.is_written(1);
        Answer got;
        {
            const FailingMessages failing;
            training.is_taken(2);
            got = tried([&] { training.snapshots.wait(); });
        }
        barrier(comm);
        INFO("step 2 is taken while all messages fail; then wait(): " << got.text);
        CHECK(got.what == kError);
        check_snapshot(training.folder, 1, comm);
    });
}

TEST_CASE("a copy that fails is an error at once, and nobody has that snapshot") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        for (int bad = 0; bad < comm.size(); ++bad) {
            const bool is_bad = comm.rank() == bad;
            Training training(comm);
            training.is_written(1);
            training.goes_to(2);
            Parts parts = training.parts;
            if (is_bad) {
                parts.insert(parts.begin() + 1, {"no tensor", 4, 0, at::Tensor()});
            }
            const Answer took = tried([&] { training.snapshots.take(2, parts, training.bytes()); });
            const Answer waited = tried([&] { training.snapshots.wait(); });
            if (is_bad && took.what != kReturned && waited.what == kReturned) {
                training.is_taken(3);  // or the others would wait for ever
            }
            INFO("step 2 is taken, and rank " << bad << " cannot copy one of its parts");
            INFO("take() must throw there, and only there; then all ranks wait()");
            const std::string came = took.what == kReturned ? took.what : "it throws";
            CHECK(came == (is_bad ? "it throws" : kReturned));
            check_thrown(waited, text("rank ", bad), comm);
            check_snapshot(training.folder, 1, comm);
            training.is_written(4);
            check_snapshot(training.folder, 4, comm);
        }
    });
}

TEST_CASE("one copy is held, from its take until it is written") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const std::int64_t n = 50'000;
        const at::Tensor data = at::ones({n});
        const Parts parts = {{"w", n * comm.size(), n * comm.rank(), data}};
        const auto copy = static_cast<long>(data.nbytes());
        Snapshots snapshots(empty_folder(comm), comm);
        const auto take = [&] { snapshots.take(1, parts, {}); };
        take();
        snapshots.wait();
        const MemoryBefore before;
        forget_peak();
        if (comm.rank() == 0) {
            take();
        }
        long held = 0;
        waits_alone(comm, 0, take, [&] { held = before.all_since(); });
        if (comm.rank() != 0) {
            take();
            take();
        }
        snapshots.wait();
        barrier(comm);
        const auto peak = static_cast<long>(before.peak_since(static_cast<std::size_t>(4 * copy)));
        {
            INFO("rank 0 is in its second take(), and the others have not written the first one");
            CHECK(held <= copy + kDescriptions);
        }
        {
            INFO("the most that tensors held, or all memory beyond what a file needs");
            CHECK(peak <= copy + kDescriptions);
        }
        take();
        INFO("a snapshot is written, and nobody has called wait(): is its copy kept for that?");
        CHECK(becomes_true([&] { return before.all_since() <= kDescriptions; }));
    });
}

TEST_CASE("the destructor waits until the snapshot is written, and leaves no thread") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        for (int early = 0; early < comm.size(); ++early) {
            const long before = entries("task");
            std::optional<Training> training(std::in_place, comm);
            const fs::path folder = training->folder;
            if (comm.rank() == early) {
                training->is_taken(1);
            }
            const bool waited = waits_alone(comm, early, [&] { training.reset(); });
            if (comm.rank() != early) {
                training->is_taken(1);
                training.reset();
            }
            const bool is_written = fs::exists(folder / "index");
            barrier(comm);
            INFO("rank " << early << " takes a snapshot and is done; then the others take it");
            {
                INFO("the destructor returned, and the others had not written their parts");
                CHECK((waited || comm.size() == 1));
            }
            CHECK(is_written);
            check_snapshot(folder, 1, comm);
            INFO("is the thread joined?");
            CHECK(becomes_true([&] { return entries("task") == before; }));
        }
    });
}

TEST_CASE("an error belongs to the Snapshots whose folder it is, and their destructor throws none"
) {
    on_ranks({1, 2}, [](const Communicator& comm) {
        const fs::path file = empty_folder(comm, "impossible");
        on_rank_0(comm, [&] { set_content(file, "a file"); });
        Training(comm, file / "below").is_taken(1);
        Training fails(comm, file / "below");
        Training other(comm);
        fails.is_taken(1);
        const Answer took = tried([&] { other.is_taken(2); });
        const Answer waited = tried([&] { other.snapshots.wait(); });
        INFO("two Snapshots: the folder of the first cannot be made, that of the second can");
        CHECK((took.text + waited.text).empty());
        check_thrown(tried([&] { fails.snapshots.wait(); }), "Not a directory", comm);
        check_snapshot(other.folder, 2, comm);
    });
}

TEST_CASE("load_snapshot refuses another number of extra bytes, and a folder without a snapshot") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        const fs::path folder = empty_folder(comm);
        Snapshots snapshots(folder, comm);
        for (const std::size_t n : {6, 5, 7}) {
            const at::Tensor data = at::full({10}, 7, at::kFloat);
            std::vector<std::byte> room(n, std::byte{7});
            const Parts wanted = {{"w", 10, 0, data}};
            const Answer got = answer(comm, [&] { load_snapshot(folder, wanted, room, comm); });
            INFO("room is for " << n << " extra bytes: all that it has was 7");
            check_thrown(got, n == 6 ? "index" : "snapshot.extra", comm);
            CHECK(same(elements(data), std::vector<float>(10, 7)));
            const bool is_kept = room == std::vector(n, std::byte{7});
            CHECK(is_kept);
            snapshots.take(1, ten(0), std::as_bytes(std::span("5 + 1")));
            snapshots.wait();
            barrier(comm);
        }
    });
}

TEST_CASE("snapshot is right on 11 ranks", "[many]") {
    on_ranks({11}, [](const Communicator& comm) {
        Training training(comm);
        training.is_taken(1);
        training.is_taken(2);
        training.is_written(3);
        check_snapshot(training.folder, 3, comm);
        on_first(3, comm, [&](const Communicator& some) {
            check_snapshot(training.folder, 3, some);
        });
    });
}
