// What overlap must do: a thread works while its caller goes on, and buckets travel while backward computes. Threads wait
// for each other here, and not for a time: a wrong answer is known by what does not happen.
#include "exercises/06_ddp/overlap.hpp"

#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <unistd.h>

#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "tests/06_ddp/backward.hpp"

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
            reducer.prepare_for_backward();
            model.backward(backwards(3), input(3, comm.rank(), salt));
            reducer.finalize_backward();
            const auto expected = model.of_each(reduced_input(3, p, ReduceOp::mean, salt));
            const Comparison means =
                same(model.each_gradient(), expected, tolerance(ReduceOp::mean, p));
            const Comparison others = same(other, reduced_input(100, p, ReduceOp::sum, salt + 3));
            INFO("pass " << salt + 1 << " of 3");
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
        std::vector<int> expected(20);
        std::iota(expected.begin(), expected.end(), 1);
        std::vector<int> number(20);
        Event all_are_submitted = false;
        std::vector<std::future<void>> works;
        CommThread thread;
        for (int& mine : number) {
            works.push_back(thread.submit([&] {
                thread_local int count = 0;
                mine = ++count;
                if (mine == 1) {
                    comes(all_are_submitted);  // the others queue up behind this one
                }
            }));
        }
        all_are_submitted = true;
        for (const std::future<void>& work : works) {
            REQUIRE(comes(work));
        }
        INFO("each work's number in its thread: does one thread do all, the oldest first?");
        CHECK(number == expected);
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
        auto first = thread.submit([] { throw Error("the first fails"); });
        auto second = thread.submit([] { throw std::invalid_argument("the second as well"); });
        REQUIRE(comes(first));
        CHECK_THROWS_AS(first.get(), Error);
        INFO("has the exception ended the thread?");
        REQUIRE(comes(second));
        CHECK_THROWS_WITH(second.get(), "the second as well");
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

TEST_CASE("what the hook returns is waited for, and its error comes out of finalize_backward") {
    on_ranks({1}, [](const Communicator& comm) {
        const auto hook = [](const at::Tensor&) {
            return std::async(std::launch::deferred, [] { throw Error("in the hook's future"); });
        };
        const Model model({1});
        CommThread thread;
        Reducer reducer(model.parameters, {1}, overlapped_hook(thread, hook), comm);
        reducer.prepare_for_backward();
        model.backward({0}, {1});
        CHECK_THROWS_WITH(reducer.finalize_backward(), "in the hook's future");
    });
}

TEST_CASE("overlap is right on 11 ranks", "[many]") {
    overlaps({11});
}
