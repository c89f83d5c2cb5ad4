// What snapshot must do: a step waits for a copy, a thread writes it, and whatever happens one snapshot is there, whole.
// Ranks come late here, and not after a time: a wrong answer is known by who waits for whom.
#include "exercises/10_elastic/snapshot.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <sys/inotify.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "course/protocol/counted.hpp"
#include "course/runtime/communicator.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/10_elastic/elastic_sampler.hpp"
#include "tests/07_zero/checkpoints.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/memory.hpp"
#include "tests/harness/words/shared_room.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

/// What is kept beside the tensors: a position, and what stands for a random generator.
struct Extra {
    EpochPosition at;
    std::uint64_t random = 0;

    bool operator==(const Extra&) const = default;
};

/// Each rank has another one.
Extra extra_of(std::int64_t step, int rank) {
    const auto s = static_cast<std::uint64_t>(step);
    return {{s, 10 * s}, 1000 * s + static_cast<std::uint64_t>(rank)};
}

std::string text_of(const Extra& extra) {
    return "epoch " + std::to_string(extra.at.epoch) + ", " + std::to_string(extra.at.consumed) +
           " consumed, random " + std::to_string(extra.random);
}

constexpr std::int64_t kWeights = 12;

/// Weights [begin, end): number k is 1000 step + k.
at::Tensor weights_of(std::int64_t step, std::int64_t begin = 0, std::int64_t end = kWeights) {
    return at::arange(1000 * step + begin, 1000 * step + end, at::kFloat);
}

/// Weights, which are cut for the ranks, what an optimizer has of them (minus the weight), and extra bytes.
struct Training {
    Parts parts;
    Extra extra;
    int rank;

    explicit Training(const Communicator& comm) : rank(comm.rank()) {
        const std::int64_t begin = kWeights * rank / comm.size();
        const std::int64_t end = kWeights * (rank + 1) / comm.size();
        const at::Tensor weights = weights_of(0, begin, end);
        parts = {{"w", kWeights, begin, weights}, {"optimizer.w", kWeights, begin, weights.neg()}};
    }

    [[nodiscard]] std::span<const std::byte> bytes() const {
        return std::as_bytes(std::span(&extra, 1));
    }

    /// Changes all of it, in its place.
    void goes_to(std::int64_t step) {
        const std::int64_t begin = parts[0].begin;
        const at::Tensor weights = weights_of(step, begin, begin + parts[0].data.numel());
        parts[0].data.copy_(weights);
        parts[1].data.copy_(weights.neg());
        extra = extra_of(step, rank);
    }

    void is_taken(Snapshots& snapshots, std::int64_t step) {
        goes_to(step);
        snapshots.take(step, parts, bytes());
    }
};

Comparison same_weights(const at::Tensor& got, std::int64_t step, bool negative) {
    const auto of = [negative](std::int64_t s) {
        const at::Tensor weights = weights_of(s);
        return elements(negative ? weights.neg() : weights);
    };
    const std::string other = ", and the step is that of another snapshot";
    return same(
        elements(got), of(step), 0.0,
        {{of(step - 1), "they are of step " + std::to_string(step - 1) + other},
         {of(step + 1), "they are of step " + std::to_string(step + 1) + other},
         {std::vector<float>(kWeights, -1), "nothing was loaded: -1 was there before"}}
    );
}

Comparison same_extra(const Extra& got, std::int64_t step) {
    const Extra expected = extra_of(step, 0);
    std::string text = "expected " + text_of(expected) + "; got " + text_of(got);
    for (int rank = 1; rank < 16; ++rank) {
        text += got == extra_of(step, rank)
                    ? ": these are rank " + std::to_string(rank) + "'s, and rank 0's are saved"
                    : "";
    }
    text += got == extra_of(step - 1, 0) || got == extra_of(step + 1, 0)
                ? ": these are of another step than the weights"
                : "";
    return {got == expected, text};
}

/// What a call throws on this rank. Calls of Snapshots are no business of record(): their thread may be under way.
Answer tried(const std::function<void()>& call) {
    try {
        call();
    } catch (const NotImplemented&) {
        throw;
    } catch (const Error& error) {
        return {kError, error.what(), {}};
    } catch (const std::runtime_error& error) {
        return {"std::runtime_error", error.what(), {}};
    } catch (const std::exception& error) {
        return {"std::exception", error.what(), {}};
    }
    return {kReturned, {}, {}};
}

/// Every rank loads the whole: all of it is of one step, which is returned.
std::int64_t check_whole(const fs::path& folder, const Communicator& comm) {
    const at::Tensor weights = at::full({kWeights}, -1, at::kFloat);
    const at::Tensor of_optimizer = at::full({kWeights}, -1, at::kFloat);
    const Parts wanted = {{"w", kWeights, 0, weights}, {"optimizer.w", kWeights, 0, of_optimizer}};
    Extra extra;
    std::int64_t step = -1;
    const Answer got = tried([&] {
        step = load_snapshot(folder, wanted, std::as_writable_bytes(std::span(&extra, 1)), comm);
    });
    INFO("load_snapshot: " << (got.text.empty() ? "step " + std::to_string(step) : got.text));
    {
        INFO("there must be a snapshot that can be loaded");
        REQUIRE(got.what == kReturned);
    }
    {
        INFO("the weights: number k is 1000 step + k");
        const Comparison result = same_weights(weights, step, false);
        CHECK(result);
    }
    {
        INFO("what the optimizer keeps: number k is minus weight k");
        const Comparison result = same_weights(of_optimizer, step, true);
        CHECK(result);
    }
    INFO("the extra bytes");
    const Comparison result = same_extra(extra, step);
    CHECK(result);
    return step;
}

/// The folder has the snapshot of this step, whole.
void check_snapshot(const fs::path& folder, std::int64_t step, const Communicator& comm) {
    INFO("now the folder must have the snapshot of step " << step);
    const std::int64_t loaded = check_whole(folder, comm);
    CHECK(loaded == step);
}

/// A snapshot is taken and written.
void written(
    Snapshots& snapshots, Training& training, std::int64_t step, const Communicator& comm
) {
    training.is_taken(snapshots, step);
    snapshots.wait();
    barrier(comm);
}

/// Waits until something holds; but not for ever.
bool comes(const std::function<bool()>& holds, int looks = 1000) {
    for (int look = 0; look < looks && !holds(); ++look) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return holds();
}

/// A word from one rank to all others, without a message. Every rank of `comm` makes one.
class Word {
  public:
    explicit Word(const Communicator& comm)
        : said_(*static_cast<std::atomic<int>*>(shared_room("word", sizeof(std::atomic<int>)))) {
        on_rank_0(comm, [&] { said_ = 0; });
    }
    void say(int word = 1) { said_ = word; }

    /// Returns what was said.
    int await() const {
        constexpr int kLong = 5000;
        comes([&] { return said_ != 0; }, kLong);
        return said_;
    }

  private:
    std::atomic<int>& said_;
};

/// How often a thread of this process has fallen asleep; empty while it runs.
std::string sleep_of(pid_t thread) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/status");
    std::string naps;
    for (std::string word; file >> word;) {
        if (word == "State:" && file >> word && word != "S") {
            return "";
        }
        if (word == "voluntary_ctxt_switches:") {
            file >> naps;
        }
    }
    return naps;
}

/// Makes a call, and says whether it waited: it slept for so long that nothing would wake it up, or did not return
/// for longer. Then another thread calls `wake`, which has to let it go on.
bool waits_in(const std::function<void()>& call, const std::function<void()>& wake) {
    constexpr int kAsleep = 200;  // looks, one each ms
    constexpr int kMost = 700;
    std::atomic<bool> has_returned = false;
    bool waited = false;
    std::thread watcher([&, caller = gettid()] {
        std::string before;
        for (int look = 0, asleep = 0; look < kMost && asleep < kAsleep && !has_returned; ++look) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            const std::string now = sleep_of(caller);
            asleep = !now.empty() && now == before ? asleep + 1 : 0;
            before = now;
        }
        waited = !has_returned;
        if (waited) {
            wake();
        }
    });
    std::exception_ptr thrown;
    try {
        call();
    } catch (...) {
        thrown = std::current_exception();
    }
    has_returned = true;
    watcher.join();
    if (thrown) {
        std::rethrow_exception(thrown);
    }
    return waited;
}

/// Nobody can make it: a file stands in its way.
fs::path impossible_folder(const Communicator& comm) {
    const fs::path folder = empty_folder(comm, "impossible");
    on_rank_0(comm, [&] { set_content(folder, "a file"); });
    return folder / "below";
}

/// The call that has to throw the error of a snapshot.
enum class Comes { of_take, of_wait };

/// Step 1 is written, and step 2 is not, since the disk of rank `full` is: then the next call throws.
void error_comes_out(Comes from, int full, const Communicator& comm) {
    const fs::path folder = empty_folder(comm);
    Snapshots snapshots(folder, comm);
    Training training(comm);
    written(snapshots, training, 1, comm);
    Answer got;
    {
        std::optional<FullDisk> disk;
        if (comm.rank() == full) {
            disk.emplace(100);
        }
        training.is_taken(snapshots, 2);
        got = tried([&] {
            from == Comes::of_take ? training.is_taken(snapshots, 3) : snapshots.wait();
        });
    }
    INFO(
        "step 2 is taken while the disk of rank " << full << " is full; then "
                                                  << (from == Comes::of_take ? "take" : "wait")
    );
    check_thrown(got, "File too large", comm);
    {
        INFO("an error comes out once, and the take() that throws it has taken nothing");
        const Answer again = tried([&] { snapshots.wait(); });
        CHECK(again.what == kReturned);
        barrier(comm);
        check_snapshot(folder, 1, comm);
    }
    written(snapshots, training, 4, comm);
    check_snapshot(folder, 4, comm);
}

/// Rank `bad` has a part that is no tensor.
void copy_fails(int bad, const Communicator& comm) {
    const bool is_bad = comm.rank() == bad;
    const fs::path folder = empty_folder(comm);
    Snapshots snapshots(folder, comm);
    Training training(comm);
    written(snapshots, training, 1, comm);
    training.goes_to(2);
    Parts parts = training.parts;
    if (is_bad) {
        parts.insert(parts.begin() + 1, {"no tensor", 4, 0, at::Tensor()});
    }
    const Answer took = tried([&] { snapshots.take(2, parts, training.bytes()); });
    const Answer waited = tried([&] { snapshots.wait(); });
    if (is_bad && took.what != kReturned && waited.what == kReturned) {
        training.is_taken(snapshots, 3);  // or the others would wait for ever
    }
    INFO("step 2 is taken, and rank " << bad << " cannot copy one of its parts");
    if (is_bad) {
        INFO("take() must throw here: it has no copy");
        CHECK(took.what != kReturned);
    } else {
        INFO("take() returns where there is a copy");
        CHECK(took.what == kReturned);
    }
    {
        INFO("then all ranks wait()");
        check_thrown(waited, "rank " + std::to_string(bad), comm);
    }
    {
        INFO("an error comes out once");
        const Answer again = tried([&] { snapshots.wait(); });
        CHECK(again.what == kReturned);
    }
    check_snapshot(folder, 1, comm);
    written(snapshots, training, 4, comm);
    check_snapshot(folder, 4, comm);
}

/// Loading fails, and changes neither tensors nor bytes.
void refuses_extra(
    const fs::path& folder, std::size_t n, const std::string& says, const Communicator& comm
) {
    const at::Tensor data = at::full({10}, 7, at::kFloat);
    const Parts wanted = {{"w", 10, 0, data}};
    std::vector<std::byte> room(n, std::byte{7});
    const Answer got = answer(comm, [&] { load_snapshot(folder, wanted, room, comm); });
    INFO("room is for " << counted(n, "extra byte") << ": all that it has was 7");
    check_thrown(got, says, comm);
    const Comparison unchanged = same(elements(data), std::vector<float>(10, 7));
    CHECK(unchanged);
    const bool is_kept = room == std::vector<std::byte>(n, std::byte{7});
    CHECK(is_kept);
}

/// Notes what any process does to the files of a folder while it lives, in one order for all of them. A file that is
/// being written has none, half, or all but one of its bytes.
class FolderHistory {
  public:
    explicit FolderHistory(fs::path folder)
        : folder_(std::move(folder)), events_of_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
        inotify_add_watch(
            events_of_, folder_.c_str(),
            IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE
        );
        for (const std::string& name : files_in(folder_)) {
            first_[name] = files_.size();
            const std::string bytes = content_of(folder_ / name);
            files_.push_back({bytes, bytes});
        }
        files_seen_ = files_.size();
    }
    ~FolderHistory() { close(events_of_); }
    FolderHistory(const FolderHistory&) = delete;
    FolderHistory& operator=(const FolderHistory&) = delete;

    /// Makes a folder of each state, below `states`: its name says, after a number, what had just happened.
    void write_states(const fs::path& states) {
        const std::vector<Event> events = read_events();
        Names last = first_;
        for (const Event& event : events) {
            apply(event, last);
        }
        for (const auto& [name, file] : last) {
            files_[file].last = content_of(folder_ / name);
        }
        Names names = first_;
        moving_.clear();
        files_seen_ = first_.size();
        for (const Event& event : events) {
            apply(event, names);
            const bool is_half = event.is(IN_MOVED_FROM);  // of a rename, which is one moment
            if (!is_half) {
                write_after(event, names, states);
            }
        }
    }

  private:
    struct File {
        std::string now = {};   // its bytes
        std::string last = {};  // what they are at the end
    };
    using Names = std::map<std::string, std::size_t>;  // which file has which name
    struct Event {
        std::uint32_t what;
        std::uint32_t rename;  // both halves of a rename have one number
        std::string name;

        [[nodiscard]] bool is(std::uint32_t mask) const { return (what & mask) != 0; }
    };

    [[nodiscard]] std::vector<Event> read_events() const {
        std::vector<Event> events;
        std::array<char, 1 << 16> bytes{};
        for (ssize_t n = 0; (n = read(events_of_, bytes.data(), bytes.size())) > 0;) {
            for (std::size_t i = 0; i < static_cast<std::size_t>(n);) {
                inotify_event event{};
                std::memcpy(&event, bytes.data() + i, sizeof event);
                if (event.len > 0) {
                    events.push_back({event.mask, event.cookie, bytes.data() + i + sizeof event});
                }
                i += sizeof event + event.len;
            }
        }
        return events;
    }

    std::size_t new_file() {
        if (files_seen_ == files_.size()) {
            files_.emplace_back();
        }
        return files_seen_++;
    }

    /// What has which name after an event.
    void apply(const Event& event, Names& names) {
        if (event.is(IN_MOVED_FROM | IN_DELETE)) {
            if (const auto found = names.find(event.name); found != names.end()) {
                moving_[event.rename] = found->second;
                names.erase(found);
            }
        } else if (event.is(IN_MOVED_TO)) {
            const auto found = moving_.find(event.rename);
            names[event.name] = found != moving_.end() ? found->second : new_file();
        } else if (event.is(IN_CREATE)) {
            names[event.name] = new_file();
        }
    }

    void write_after(const Event& event, const Names& names, const fs::path& states) {
        const auto found = names.find(event.name);
        if (found == names.end()) {
            return write_state(event.name + " is gone", names, states);
        }
        File& file = files_[found->second];
        if (event.is(IN_CREATE)) {
            file.now.clear();
            write_state(event.name + " is there", names, states);
        } else if (event.is(IN_MODIFY)) {
            const std::size_t n = file.last.size();
            for (const std::size_t length :
                 {std::size_t{0}, n - std::min<std::size_t>(n, 1), n / 2}) {
                file.now = file.last.substr(0, length);
                const std::string bytes = " has " + counted(length, "byte") + " of ";
                write_state(event.name + bytes + std::to_string(n), names, states);
            }
        } else {
            file.now = event.is(IN_CLOSE_WRITE) ? file.last : file.now;
            write_state(event.name + " is whole", names, states);
        }
    }

    void write_state(const std::string& after, const Names& names, const fs::path& states) {
        const int number = 1000 + states_++;  // of the same length, so that they are in order
        const fs::path state = states / (std::to_string(number) + " " + after);
        fs::create_directories(state);
        for (const auto& [name, file] : names) {
            set_content(state / name, files_[file].now);
        }
    }

    fs::path folder_;
    int events_of_;
    std::vector<File> files_;  // by number
    Names first_;
    std::size_t files_seen_ = 0;
    std::map<std::uint32_t, std::size_t> moving_;
    int states_ = 0;
};

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
    on_ranks({2, 3}, [](const Communicator& comm) {
        // Step 1 is written, and of step 2 no message arrives.
        const fs::path folder = empty_folder(comm);
        Snapshots snapshots(folder, comm);
        Training training(comm);
        written(snapshots, training, 1, comm);
        Answer got;
        {
            const FailingMessages failing;
            training.is_taken(snapshots, 2);
            got = tried([&] { snapshots.wait(); });
        }
        barrier(comm);
        INFO("step 2 is taken while all messages fail; then wait(): " << got.text);
        CHECK(got.what == kError);
        check_snapshot(folder, 1, comm);
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
    on_ranks({2, 1}, [](const Communicator& comm) {
        // The last snapshot has failed, and nobody has asked.
        const fs::path folder = impossible_folder(comm);
        Training training(comm);
        {
            Snapshots snapshots(folder, comm);
            training.is_taken(snapshots, 1);
        }
        Snapshots snapshots(folder, comm);
        training.is_taken(snapshots, 1);
        INFO("a file stands where the folder should be; then wait()");
        check_thrown(tried([&] { snapshots.wait(); }), "Not a directory", comm);
    });
}

TEST_CASE("an error belongs to the Snapshots whose folder it is, and to no other") {
    on_ranks({1, 2}, [](const Communicator& comm) {
        // The snapshot of one fails, and another one's is written.
        const fs::path folder = empty_folder(comm);
        Training training(comm);
        Snapshots fails(impossible_folder(comm), comm);
        Snapshots other(folder, comm);
        training.is_taken(fails, 1);
        const Answer took = tried([&] { training.is_taken(other, 2); });
        const Answer waited = tried([&] { other.wait(); });
        INFO("two Snapshots: the folder of the first cannot be made, that of the second can");
        CHECK(took.text.empty());
        CHECK(waited.text.empty());
        check_thrown(tried([&] { fails.wait(); }), "Not a directory", comm);
        check_snapshot(folder, 2, comm);
    });
}

TEST_CASE("load_snapshot refuses another number of extra bytes, and a folder without a snapshot") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        // No snapshot, and then one with 6 extra bytes.
        const fs::path folder = empty_folder(comm);
        refuses_extra(folder, 6, "index", comm);
        Snapshots snapshots(folder, comm);
        const std::vector<std::byte> extra(6, std::byte{5});
        snapshots.take(1, ten(0), extra);
        snapshots.wait();
        barrier(comm);
        for (const std::size_t n : {5, 7, 0}) {
            refuses_extra(folder, n, "snapshot.extra", comm);
        }
        std::vector<std::byte> room(6);
        CHECK(load_snapshot(folder, {}, room, comm) == 1);
        const bool is_loaded = room == extra;
        CHECK(is_loaded);
    });
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
