// What snapshot must do: a step waits for a copy, a thread writes it, and whatever happens one snapshot is there, whole.
// Ranks come late here, and not after a time: a wrong answer is known by who waits for whom.
#include "exercises/10_elastic/snapshot.hpp"

#include <ATen/ops/ones.h>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "tests/10_elastic/folder_history.hpp"
#include "tests/10_elastic/snapshot_failures.hpp"
#include "tests/10_elastic/snapshot_waits.hpp"
#include "tests/10_elastic/snapshots.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/memory.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"}, "This exercise stands on your own ring_all_reduce and sharded_checkpoint."
);

/// Of this process.
std::ptrdiff_t threads() {
    return std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator());
}

}  // namespace

TEST_CASE("what p ranks have taken, q ranks load: step, parts and extra bytes, for p, q from 1 to 4"
) {
    on_ranks({4}, [](const Communicator& comm) {
        const fs::path folder = empty_folder(comm);
        for (const int p : {2, 3, 1, 4}) {
            on_first(p, comm, [&](const Communicator& some) {
                Snapshots snapshots(folder, some);
                Training training(some);
                written(snapshots, training, 20 + p, some);
                written(snapshots, training, p, some);
            });
            for (const int q : {2, 3, 1, 4}) {
                on_first(q, comm, [&](const Communicator& some) {
                    INFO("taken by " << counted(p, "rank") << ", loaded by " << some.size());
                    check_snapshot(folder, p, some);
                });
            }
        }
    });
}

TEST_CASE("take returns though no other rank has come, and all it was given may be changed then") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        constexpr int kIsWaiting = 1;
        constexpr int kHasReturned = 2;
        for (int early = 0; early < comm.size(); ++early) {
            const fs::path folder = empty_folder(comm);
            Word word(comm);
            Snapshots snapshots(folder, comm);
            Training training(comm);
            std::vector<float> other = input(100, comm.rank(), 5);
            bool waited = false;
            if (comm.rank() == early) {
                const auto take = [&] { training.is_taken(snapshots, 1); };
                waited = waits_in(take, [&] { word.say(kIsWaiting); });
                training.goes_to(2);
                word.say(waited ? kIsWaiting : kHasReturned);
            }
            const bool is_free = word.await() == kHasReturned;
            if (is_free) {
                ring_all_reduce(other, ReduceOp::sum, comm);
            }
            if (comm.rank() != early) {
                training.is_taken(snapshots, 1);
                training.goes_to(2);
            }
            snapshots.wait();
            INFO("rank " << early << " takes step 1 and changes all; then the other ranks take it");
            {
                INFO("take() waits for what other ranks have not done yet: only the thread may");
                CHECK_FALSE(waited);
            }
            if (!is_free) {
                return;
            }
            check_snapshot(folder, 1, comm);
            const Comparison sums = same(other, reduced_input(100, comm.size(), ReduceOp::sum, 5));
            INFO("the training's ring_all_reduce, while the thread of rank " << early << " waits");
            CHECK(sums);
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
            const fs::path folder = empty_folder(comm);
            Word word(comm);
            Snapshots snapshots(folder, comm);
            Training training(comm);
            float waited = 1;
            if (comm.rank() == early) {
                training.is_taken(snapshots, 1);
                const auto take = [&] { training.is_taken(snapshots, 2); };
                waited = waits_in(take, [&] { word.say(); }) ? 1 : 0;
                word.say();
            } else {
                word.await();
                training.is_taken(snapshots, 1);
            }
            ring_all_reduce({&waited, 1}, ReduceOp::min, comm);
            INFO("rank " << early << " takes steps 1 and 2; then the others take step 1");
            {
                INFO("take() of step 2 must wait: the others have not written step 1");
                CHECK(waited == 1);
            }
            if (waited != 1) {
                return;  // who has taken what is not known
            }
            check_snapshot(folder, 1, comm);
            if (comm.rank() != early) {
                training.is_taken(snapshots, 2);
            }
            for (std::int64_t step = 3; step < 6; ++step) {
                training.is_taken(snapshots, step);
            }
            snapshots.wait();
            check_snapshot(folder, 5, comm);
        }
    });
}

TEST_CASE("what cannot be written is an error of the next take or wait, on all ranks, once") {
    on_ranks({1, 3, 2}, [](const Communicator& comm) {
        for (int full = 0; full < comm.size(); ++full) {
            error_comes_out(Comes::of_take, full, comm);
            error_comes_out(Comes::of_wait, full, comm);
        }
    });
}

TEST_CASE("a message that fails is the error that save_sharded throws: a dist::Error") {
    on_ranks({2, 3}, [](const Communicator& comm) { messages_fail(comm); });
}

TEST_CASE("a disk that is full at any byte leaves the files of the snapshot before") {
    on_ranks({2, 1}, [](const Communicator& comm) {
        for (int full = 0; full < comm.size(); ++full) {
            full_at_any_byte(full, comm);
        }
    });
}

TEST_CASE("a copy that fails is an error at once, and nobody has that snapshot") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        for (int bad = 0; bad < comm.size(); ++bad) {
            copy_fails(bad, comm);
        }
    });
}

TEST_CASE("whenever all ranks are killed, the folder has one snapshot, whole and of one step") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        const fs::path folder = empty_folder(comm);
        const fs::path states = empty_folder(comm, "states");
        Snapshots snapshots(folder, comm);
        Training training(comm);
        written(snapshots, training, 1, comm);
        std::optional<FolderHistory> history;
        on_rank_0(comm, [&] { history.emplace(folder); });
        written(snapshots, training, 2, comm);
        on_rank_0(comm, [&] { history->write_states(states); });
        const std::vector<std::string> all = files_in(states);
        REQUIRE_FALSE(all.empty());
        std::vector<std::int64_t> steps;
        for (const std::string& state : all) {
            INFO("step 1 is written, then step 2; all are killed when " << state.substr(5));
            steps.push_back(check_whole(states / state, comm));
            CHECK((steps.back() == 1 || steps.back() == 2));
        }
        INFO("the first state, and the last one");
        CHECK(steps.front() == 1);
        CHECK(steps.back() == 2);
    });
}

TEST_CASE("one copy is held, from its take until it is written") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const fs::path folder = empty_folder(comm);
        const std::int64_t n = 50'000;
        const at::Tensor data = at::ones({n});
        const Parts parts = {{"w", n * comm.size(), n * comm.rank(), data}};
        const auto copy = static_cast<long>(data.nbytes());
        Word word(comm);
        Snapshots snapshots(folder, comm);
        const auto take = [&] { snapshots.take(1, parts, {}); };
        take();
        snapshots.wait();
        const MemoryBefore before;
        forget_peak();
        long held = 0;
        if (comm.rank() == 0) {
            take();
            const auto look = [&] {
                held = before.all_since();
                word.say();
            };
            if (!waits_in(take, look)) {
                look();
            }
        } else {
            word.await();
            take();
            take();
        }
        snapshots.wait();
        barrier(comm);
        const long left = before.all_since();
        const auto peak = static_cast<long>(before.peak_since(static_cast<std::size_t>(4 * copy)));
        INFO("a copy is " << copy << " bytes, and what describes it at most " << kDescriptions);
        {
            INFO("rank 0 is in its second take(), and the others have not written the first one");
            CHECK(held <= copy + kDescriptions);
        }
        {
            INFO("the most that tensors held, or all memory beyond what a file needs");
            CHECK(peak <= copy + kDescriptions);
        }
        {
            INFO("what is left when both are written");
            CHECK(left <= kDescriptions);
        }
        take();
        INFO("a snapshot is written, and nobody has called wait(): is its copy kept for that?");
        CHECK(comes([&] { return before.all_since() <= kDescriptions; }));
    });
}

TEST_CASE("the destructor waits until the snapshot is written, and leaves no thread") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        for (int early = 0; early < comm.size(); ++early) {
            const fs::path folder = empty_folder(comm);
            Word word(comm);
            Training training(comm);
            const std::ptrdiff_t before = threads();
            std::optional<Snapshots> snapshots(std::in_place, folder, comm);
            bool waited = comm.size() == 1;
            if (comm.rank() == early) {
                training.is_taken(*snapshots, 1);
                const auto destroy = [&] { snapshots.reset(); };
                waited = waits_in(destroy, [&] { word.say(); }) || waited;
                word.say();
            } else {
                waited = true;
                word.await();
                training.is_taken(*snapshots, 1);
                snapshots.reset();
            }
            const bool is_written = fs::exists(folder / "index");
            barrier(comm);
            INFO("rank " << early << " takes a snapshot and is done; then the others take it");
            {
                INFO("the destructor returned, and the others had not written their parts");
                CHECK(waited);
            }
            CHECK(is_written);
            check_snapshot(folder, 1, comm);
            INFO("is the thread joined?");
            CHECK(comes([&] { return threads() == before; }));
        }
    });
}

TEST_CASE("the destructor throws nothing where the last snapshot could not be written") {
    on_ranks({2, 1}, [](const Communicator& comm) { destroyed_with_an_error(comm); });
}

TEST_CASE("an error belongs to the Snapshots whose folder it is, and to no other") {
    on_ranks({1, 2}, [](const Communicator& comm) { another_has_no_error(comm); });
}

TEST_CASE("load_snapshot refuses another number of extra bytes, and a folder without a snapshot") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) { refuses_other_lengths(comm); });
}

TEST_CASE("a snapshot may have no part and no extra byte") {
    on_ranks({2, 1}, [](const Communicator& comm) {
        const fs::path folder = empty_folder(comm);
        Snapshots snapshots(folder, comm);
        snapshots.take(5, {}, {});
        snapshots.wait();
        barrier(comm);
        CHECK(load_snapshot(folder, {}, {}, comm) == 5);
    });
}

TEST_CASE("snapshot takes ranks from the communicator it is given") {
    on_ranks({4}, [](const Communicator& comm) {
        const fs::path folders[] = {empty_folder(comm, "even"), empty_folder(comm, "odd")};
        const int color = comm.rank() % 2;
        const Communicator pair = comm.split(color, -comm.rank());
        Snapshots snapshots(folders[color], pair);
        Training training(pair);
        written(snapshots, training, 2, pair);
        check_snapshot(folders[color], 2, pair);
    });
}

TEST_CASE("snapshot is right on 11 ranks", "[many]") {
    on_ranks({11}, [](const Communicator& comm) {
        const fs::path folder = empty_folder(comm);
        Snapshots snapshots(folder, comm);
        Training training(comm);
        for (std::int64_t step = 1; step < 4; ++step) {
            training.is_taken(snapshots, step);
        }
        snapshots.wait();
        barrier(comm);
        check_snapshot(folder, 3, comm);
        on_first(3, comm, [&](const Communicator& some) { check_snapshot(folder, 3, some); });
    });
}
