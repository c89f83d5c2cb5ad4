// What overlap must do: a thread works while its caller goes on, and buckets travel while backward computes. Threads wait
// for each other here, and not for a time: a wrong answer is known by what does not happen.
#include "exercises/06_ddp/overlap.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>

#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "tests/06_ddp/backward.hpp"
#include "tests/harness/words/throws.hpp"

using namespace dist;
using namespace dist::harness;
using namespace std::chrono_literals;

namespace {

using Event = std::atomic<bool>;

/// Waits until something holds; but not for ever.
bool comes(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + 3s;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        std::this_thread::sleep_for(100us);
    }
    return true;
}
bool comes(const Event& event) {
    return comes([&] { return event.load(); });
}
bool comes(const std::future<void>& done) {
    return comes([&] { return done.wait_for(0s) == std::future_status::ready; });
}

/// What Linux says of a thread of this process: its "State", its "voluntary_ctxt_switches", ...
std::string status_of(pid_t thread, const std::string& key) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/status");
    std::string word;
    while (file >> word && word != key + ":") {
    }
    file >> word;
    return word;
}
bool falls_asleep(pid_t thread) {
    return comes([&] { return status_of(thread, "State") == "S"; });
}

/// Three buckets. The last rank's first one leaves when the second gradient comes, and the ranks have
/// exchanged other data by then; it is through on all ranks before the third gradient comes.
void overlaps(const std::vector<int>& worlds) {
    on_ranks(worlds, [](const Communicator& comm) {
        const Communicator own = comm.dup();
        const int p = comm.size();
        std::vector<float> other;
        Event second_comes = false;
        Event first_is_through = false;
        bool went_on = true;
        bool was_through = true;
        const auto hook = [&, all_reduce = all_reduce_hook(own)](const at::Tensor& flat) {
            went_on = comm.rank() < p - 1 || (comes(second_comes) && went_on);
            all_reduce(flat).get();
            first_is_through = true;
            return ready();
        };
        const Model model({2, 3, 100});
        model.parameters[1].register_hook([&](const at::Tensor&) {
            ring_all_reduce(other, ReduceOp::sum, comm);
            second_comes = true;
        });
        model.parameters[0].register_hook([&](const at::Tensor&) {
            was_through = comes(first_is_through) && was_through;
        });
        CommThread thread;
        Reducer reducer(model.parameters, {1}, overlapped_hook(thread, hook), comm);
        for (std::uint64_t salt = 0; salt < 3; ++salt) {
            other = input(100, comm.rank(), salt + 3);
            forget_gradients(model.parameters);
            INFO("pass " << salt + 1 << " of 3");
            reducer.prepare_for_backward();
            model.backward(backwards(3), input(3, comm.rank(), salt));
            reducer.finalize_backward();
            const auto expected = model.of_each(reduced_input(3, p, ReduceOp::mean, salt));
            const Comparison means =
                same(model.each_gradient(), expected, tolerance(ReduceOp::mean, p));
            const Comparison others = same(other, reduced_input(100, p, ReduceOp::sum, salt + 3));
            CHECK(means);
            CHECK(others);
        }
        const Comparison goes_on = {
            went_on,
            "backward stood still while the first bucket was under way: is the hook called, or "
            "waited for, by the thread that runs backward?"};
        const Comparison through = {
            was_through,
            "the first bucket was still here when the last gradient came: does its work "
            "start only when finalize_backward() asks for it?"};
        CHECK(goes_on);
        CHECK(through);
    });
}

}  // namespace

TEST_CASE("the thread sleeps while it has nothing to do, and wakes up for work") {
    on_ranks({1}, [](const Communicator&) {
        CommThread thread;
        pid_t id = 0;
        for (int number = 0; number < 2; ++number) {
            const auto work = thread.submit([&] { id = gettid(); });
            {
                INFO("a thread that sleeps is given work: does submit() wake it up?");
                REQUIRE(comes(work));
            }
            INFO(
                "without work it does not sleep: does it ask for some again and again, or has it "
                "ended?"
            );
            REQUIRE(falls_asleep(id));
        }
        const int before = std::stoi(status_of(id, "voluntary_ctxt_switches"));
        std::this_thread::sleep_for(300ms);
        INFO("how often the thread woke up in 0.3 s without work");
        CHECK(std::stoi(status_of(id, "voluntary_ctxt_switches")) - before <= 5);
    });
}

TEST_CASE("CommThread does its work in the order in which it is given, all in one thread") {
    on_ranks({1}, [](const Communicator&) {
        std::vector<int> expected(100);
        std::iota(expected.begin(), expected.end(), 1);
        std::vector<int> number(100);
        Event all_are_submitted = false;
        Event submit_returned = false;
        std::vector<std::future<void>> works;
        CommThread thread;
        for (int& mine : number) {
            works.push_back(thread.submit([&] {
                thread_local int count = 0;
                mine = ++count;
                if (mine == 1) {  // the others queue up behind this one
                    submit_returned = comes(all_are_submitted);
                }
            }));
        }
        all_are_submitted = true;
        for (const std::future<void>& work : works) {
            REQUIRE(comes(work));
        }
        const auto wrong = std::ranges::mismatch(number, expected);
        if (wrong.in1 != number.end()) {
            INFO("work " << *wrong.in2 << " was number " << *wrong.in1 << " of its thread");
            INFO("does one thread do all, the oldest first?");
            CHECK(*wrong.in1 == *wrong.in2);
        }
        INFO("100 works were submitted while the first was under way: does submit() wait for room?"
        );
        CHECK(submit_returned);
    });
}

TEST_CASE("submit returns while other work is under way, and nobody waits for an unasked future") {
    on_ranks({1}, [](const Communicator&) {
        Event begins = false;
        Event caller_went_on = false;
        std::atomic<const char*> caller = "submit(), which gave it this work";
        std::string waited_in;
        CommThread thread;
        const auto first = thread.submit([&] {
            begins = true;
            waited_in = comes(caller_went_on) ? "" : caller.load();
        });
        REQUIRE(comes(begins));
        caller = "submit() of more work: is a lock held while work is done?";
        auto second = thread.submit([] {});
        caller = "the destructor of a future: those of std::async wait";
        second = {};
        caller_went_on = true;
        REQUIRE(comes(first));
        INFO("while work was under way, its caller waited in " << waited_in);
        CHECK(waited_in.empty());
    });
}

TEST_CASE("what work throws comes out of its future, and the thread goes on with the next") {
    on_ranks({1}, [](const Communicator&) {
        CommThread thread;
        const CrashMeans crash("as if what work threw had left the thread's function: catch (...)");
        everything_throws(
            2,
            [&](const Bomb& bomb) {
                auto first = thread.submit(bomb);
                auto second = thread.submit(bomb);
                INFO("has the exception ended the thread?");
                REQUIRE(comes(second));
                first.get();
                second.get();
            },
            [&] {
                auto next = thread.submit([] {});
                const bool is_done = comes(next) && thrown_by([&] { next.get(); }) == "nothing";
                return Comparison{is_done, "the next work fails, or is never done"};
            }
        );
    });
}

TEST_CASE("the destructor of CommThread returns when all work is done that was submitted") {
    on_ranks({1}, [](const Communicator&) {
        std::atomic<int> done = 0;
        Event all_are_submitted = false;
        std::future<void> last;
        {
            CommThread thread;
            for (int i = 0; i < 3; ++i) {
                last = thread.submit([&, caller = gettid()] {
                    comes(all_are_submitted);
                    falls_asleep(caller);  // in the destructor
                    ++done;
                });
            }
            all_are_submitted = true;
        }
        const int then = done;
        comes(last);  // work that is left behind uses what is here
        INFO("how many of three works were done when the destructor returned");
        CHECK(then == 3);
    });
}

TEST_CASE("when the destructor has returned, the thread has ended") {
    on_ranks({1}, [](const Communicator&) {
        pid_t id = 0;
        {
            CommThread thread;
            thread.submit([&] { id = gettid(); }).get();
        }
        const std::string task = "/proc/self/task/" + std::to_string(id);
        INFO("is it joined?");
        CHECK(comes([&] { return !std::filesystem::exists(task); }));
    });
}

TEST_CASE("work is gone when it is done, with all that it holds") {
    on_ranks({1}, [](const Communicator&) {
        CommThread thread;
        auto held = std::make_shared<int>();
        const std::weak_ptr<int> work = held;
        auto done = thread.submit([held] {});
        held.reset();
        REQUIRE(comes(done));
        done.get();
        INFO("does the thread keep its last work until the next one comes?");
        CHECK(comes([&] { return work.expired(); }));
        const at::Tensor flat = filled({2}, {5, 6});
        const CommHook hook = overlapped_hook(thread, [](const at::Tensor&) { return ready(); });
        hook(flat).get();
        INFO("does the hook, or its work, keep the tensor after its future was asked?");
        CHECK(comes([&] { return flat.use_count() == 1; }));
    });
}

TEST_CASE("each CommThread has a queue and a thread of its own") {
    on_ranks({1}, [](const Communicator&) {
        Event other_works = false;
        bool went_on = false;
        pid_t ids[4] = {};
        {
            CommThread one;
            CommThread other;
            one.submit([&] {
                ids[0] = gettid();
                went_on = comes(other_works);
            });
            one.submit([&] { ids[1] = gettid(); });
            other.submit([&] {
                ids[2] = gettid();
                other_works = true;
            });
            other.submit([&] { ids[3] = gettid(); });
        }
        INFO("two CommThreads, the first of which waits for work of the second");
        CHECK(went_on);
        CHECK(ids[0] == ids[1]);
        CHECK(ids[2] == ids[3]);
        CHECK(ids[0] != ids[2]);
    });
}

TEST_CASE("the first bucket is through while backward computes and the ranks exchange other data") {
    overlaps({3, 1, 2, 4, 5});
}

TEST_CASE("the hook gets the tensor that it was called for, whatever its name means later") {
    on_ranks({1}, [](const Communicator&) {
        Event renamed = false;
        std::vector<float> got;
        CommThread thread;
        const CommHook hook = overlapped_hook(thread, [&](const at::Tensor& flat) {
            comes(renamed);
            got = elements(flat);
            return ready();
        });
        at::Tensor flat = filled({2}, {5, 6});
        const auto done = hook(flat);
        flat = filled({2}, {0, 0});
        renamed = true;
        REQUIRE(comes(done));
        INFO("`flat` is a reference; a copy of an at::Tensor is the same tensor");
        CHECK(same(got, std::vector<float>{5, 6}));
    });
}

TEST_CASE("the thread that calls the hook waits for its future as well") {
    on_ranks({1}, [](const Communicator&) {
        std::vector<pid_t> called;
        std::vector<pid_t> waited;
        CommThread thread;
        const CommHook hook = overlapped_hook(thread, [&](const at::Tensor&) {
            called.push_back(gettid());
            return std::async(std::launch::deferred, [&] { waited.push_back(gettid()); });
        });
        for (int bucket = 0; bucket < 2; ++bucket) {
            const auto done = hook(filled({1}, {5}));
            REQUIRE(comes(done));
        }
        INFO("threads that called the hook, for two buckets, and who waited for what it returned");
        INFO("where another thread waits, the next bucket begins before this one is through");
        CHECK(waited == called);
    });
}

TEST_CASE("what the hook throws, and what its future does, comes out of finalize_backward") {
    on_ranks({1}, [](const Communicator& comm) {
        std::function<void()> bomb;
        const auto hook = [&](const at::Tensor&) {
            bomb();
            return std::async(std::launch::deferred, [&] { bomb(); });
        };
        const Model model({1});
        CommThread thread;
        Reducer reducer(model.parameters, {1}, overlapped_hook(thread, hook), comm);
        const auto pass = [&](const std::function<void()>& what) {
            bomb = what;
            forget_gradients(model.parameters);
            reducer.prepare_for_backward();
            model.backward({0}, {7});
            reducer.finalize_backward();
        };
        const CrashMeans crash("as if what the hook threw had left the thread's function");
        everything_throws(2, pass, [&] {
            pass([] {});
            return same(model.each_gradient(), std::vector<float>{7});
        });
    });
}

TEST_CASE("overlap is right on 11 ranks", "[many]") {
    overlaps({11});
}
