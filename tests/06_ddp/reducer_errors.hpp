// What a Reducer does where a pass ends with an error, and what it refuses. Each function is the body of a TEST_CASE.
#pragma once

#include <ATen/ops/zeros.h>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <vector>

#include "tests/06_ddp/training.hpp"
#include "tests/harness/words/settings.hpp"
#include "tests/harness/words/throws.hpp"

namespace dist::harness {

inline void missing_or_twice() {
    on_ranks({1}, [](const Communicator& comm) {
        Training training({1, 1, 1, 1}, 1, comm);
        const auto only = [&](std::size_t parameter) {
            return error_of([&] { training.model.backward({parameter}, {1, 1, 1, 1}); });
        };
        training.reducer->prepare_for_backward();
        CHECK(only(3) == "nothing");
        CHECK(only(3) == "logic_error with 3");
        training.reducer->prepare_for_backward();
        training.model.backward({3, 1}, {1, 1, 1, 1});
        const auto missing = error_of([&] { training.reducer->finalize_backward(); });
        CHECK(missing == "logic_error with 0, 2");
        {
            INFO("a bucket has left, but other ranks may never answer: nothing is waited for");
            CHECK(training.waited == 0);
        }
        training.reducer->prepare_for_backward();
        CHECK(only(3) == "nothing");
        training.lengths.clear();
        training.pass(backwards(4), {1, 1, 1, 1});
        INFO("lengths of the buckets of a pass after one that was not finalized");
        CHECK(training.lengths == std::vector<std::int64_t>{1, 1, 1, 1});
        training.reducer->prepare_for_backward();
        INFO("a gradient comes twice, and its bucket waits for others: it is an error all the same"
        );
        CHECK(only(0) == "nothing");
        CHECK(only(0) == "logic_error with 0");
    });
}

inline void plans_after_a_pass_with_gaps() {
    on_ranks({1}, [](const Communicator& comm) {
        Training training({1, 1, 1}, 1, comm);
        training.reducer->prepare_for_backward();
        training.model.backward({0, 1}, {1, 1, 1});
        CHECK(error_of([&] { training.reducer->finalize_backward(); }) == "logic_error with 2");
        training.pass({1, 2, 0}, {1, 1, 1});
        CHECK(text_of(training.reducer->buckets()) == "{2} {1} {0}");
        training.pass({0, 1, 2}, {1, 1, 1});
        INFO("the pass after a whole one has a new plan: gradients had come as 1, 2, 0");
        CHECK(text_of(training.reducer->buckets()) == "{1} {2} {0}");
    });
}

inline void plans_after_an_error_of_one_rank() {
    on_ranks({2, 3}, [](const Communicator& comm) {
        Training training({1, 1}, 1, comm);
        training.when_waited_for = [&](int /*number*/) {
            if (comm.rank() == 1) {
                throw Error("of the test");
            }
        };
        const auto thrown = thrown_by([&] { training.pass({0, 1}, {1, 1}); });
        training.when_waited_for = [](int /*number*/) {};
        training.pass({0, 1}, {3, 4});
        CHECK(thrown == (comm.rank() == 1 ? "of the test" : "nothing"));
        INFO("all gradients were ready in the pass before, as 0, 1");
        CHECK(text_of(training.reducer->buckets()) == "{0} {1}");
        const auto p = static_cast<float>(comm.size());
        CHECK(same(training.model.each_gradient(), std::vector<float>{3 / p, 4 / p}, kRounding));
    });
}

inline void throws_the_first_error() {
    on_ranks({1}, [](const Communicator& comm) {
        for (const Thrown what : {Thrown::error, Thrown::number}) {
            Training training({1, 1, 1}, 1, comm);
            training.when_waited_for = [what](int number) {
                if (number == 2) {
                    raise(what);
                } else if (number == 3) {
                    throw std::runtime_error("bucket 3");
                }
            };
            const auto error = thrown_by([&] { training.pass(backwards(3), {1, 1, 1}); });
            INFO("three buckets; the second throws " << name_of(what) << ", the third as well");
            CHECK(training.waited == 3);
            CHECK(error == name_of(what));
        }
    });
}

inline void throws_what_hooks_throw() {
    on_ranks({1}, [](const Communicator& comm) {
        std::function<void()> bomb;
        Training training({1, 1}, 1, comm, [&](const at::Tensor& /*flat*/) {
            bomb();
            return ready();
        });
        training.when_waited_for = [&](int /*number*/) { bomb(); };
        const Settings settings(training.model.parameters);
        const auto pass = [&](const std::function<void()>& what) {
            bomb = what;
            training.pass(backwards(2), {3, 4});
        };
        everything_throws(4, pass, [&] {  // the hook for two buckets, and two futures
            bomb = [] {};
            const Comparison left = settings.unchanged();
            // nothing is prepared after it: of a pass whose backward has ended with an error, gradients are missing
            thrown_by([&] { training.reducer->finalize_backward(); });
            const std::size_t calls = training.lengths.size();
            const auto thrown = thrown_by([&] { training.model.backward(backwards(2), {1, 1}); });
            const bool is_prepared = thrown != "nothing" || training.lengths.size() > calls;
            pass([] {});
            return !left         ? left
                   : is_prepared ? Comparison{false, "a pass is still prepared when finalize_backward() has thrown"}
                                 : same(training.model.each_gradient(), std::vector<float>{3, 4});
        });
    });
}

inline void throws_what_hooks_of_unused_throw() {
    on_ranks({1}, [](const Communicator& comm) {
        std::function<void()> bomb;
        Training training({1, 1}, 1, comm, [&](const at::Tensor& /*flat*/) {
            bomb();
            return ready();
        });
        const auto pass = [&](const std::function<void()>& what) {
            bomb = what;
            training.reducer->prepare_for_backward(backwards(2));
            training.reducer->finalize_backward();  // at the latest
        };
        everything_throws(2, pass, [&] {
            bomb = [] {};
            training.pass(backwards(2), {3, 4});
            return same(training.model.each_gradient(), std::vector<float>{3, 4});
        });
    });
}

inline void refuses_what_is_no_leaf() {
    on_ranks({1}, [](const Communicator& comm) {
        const Model model({1, 1});
        const at::Tensor& good = model.parameters[0];
        const at::Tensor& another = model.parameters[1];
        for (const at::Tensor& other : {good, good.detach(), good.mul(2)}) {
            const std::vector<at::Tensor> wrong = {good, another, other};
            CHECK_THROWS_AS(Reducer(wrong, {1}, silent, comm), std::invalid_argument);
        }
        CHECK_THROWS_AS(Reducer({good}, {}, silent, comm), std::invalid_argument);
        INFO("what is refused leaves the gradients as they were: not there");
        CHECK_FALSE(good.grad().defined());
        const at::Tensor twin = good.detach().requires_grad_();
        const at::Tensor empty = at::zeros({0}).requires_grad_();
        const at::Tensor empty_too = at::zeros({0}).requires_grad_();
        INFO(
            "another leaf in the same memory, and two without elements, are parameters of their own"
        );
        CHECK_NOTHROW(Reducer({good, twin, empty, empty_too}, {1}, silent, comm));
    });
}

inline void refuses_numbers() {
    on_ranks({2, 1}, [](const Communicator& comm) {
        Training training({1, 1}, 1, comm);
        training.pass(backwards(2), {1, 1});  // the order is due
        const CrashMeans crash("as if a parameter was looked for that is not there");
        for (const Sizes& wrong :
             {Sizes{2}, {0, 2}, {1UL << 31U}, {1UL << 32U}, {(1UL << 53U) + 1}}) {
            const Answer refused =
                answer(comm, [&] { training.reducer->prepare_for_backward(wrong); });
            INFO("unused are " << text_of({wrong}) << ", and there are two parameters");
            CHECK(refused.what == kInvalidArgument);
            CHECK(refused.traffic.messages_sent == 0);
        }
    });
}

}  // namespace dist::harness
