// What data_parallel must do: what the model gives, by replicas that run at the same time.
#include "exercises/05_data_parallel/data_parallel.hpp"

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <algorithm>
#include <atomic>
#include <c10/core/GradMode.h>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/compare.hpp"
#include "tests/harness/words/gone.hpp"
#include "tests/harness/words/memory.hpp"
#include "tests/harness/words/settings.hpp"
#include "tests/harness/words/text.hpp"
#include "tests/harness/words/throws.hpp"
#include "tests/harness/words/zoo.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

/// Rows 0 to n-1, each of them its own number.
at::Tensor numbered(int n) {
    std::vector<float> numbers(static_cast<std::size_t>(n));
    std::iota(numbers.begin(), numbers.end(), 0.0F);
    return filled({n}, numbers);
}

/// The number of the replica that was given these rows of numbered(); -1 for none.
int number_of(const at::Tensor& rows) {
    return rows.numel() == 0 ? -1 : static_cast<int>(*rows.data_ptr<float>());
}

class Replicas {
  public:
    Replicas() : state_(std::make_shared<State>()) {}
    Replicas(const Replicas&) = delete;
    Replicas& operator=(const Replicas&) = delete;
    /// What a model refers to is to outlive threads that a wrong answer left behind.
    ~Replicas() {
        release();
        wait([](const State& state) { return state.ended.size() == state.begun.size(); });
    }

    /// Replica `number` runs in this thread, and has ended when the thread has. In the caller's own
    /// thread, which does not end, it counts as ended at once.
    void begin(int number) {
        state_->add(&State::begun, number);
        const std::shared_ptr<void> end(nullptr, [state = state_, number](void*) {
            state->add(&State::ended, number);
        });
        thread_local std::vector<std::shared_ptr<void>> at_end_of_thread;
        if (std::this_thread::get_id() != state_->caller) {
            at_end_of_thread.push_back(end);
        }
    }

    /// How many have begun: n, unless it waited in vain for some of them.
    int wait_for_all(int n) {
        wait([n](const State& state) { return std::cmp_equal(state.begun.size(), n); });
        const std::scoped_lock guard(state_->mutex);
        return static_cast<int>(state_->begun.size());
    }

    void wait_for_end_of(int number) {
        wait([number](const State& state) { return state.ended.contains(number); });
    }

    /// Goes on working until release(), or for 0.2 s.
    void work() {
        std::unique_lock lock(state_->mutex);
        state_->changed.wait_for(lock, std::chrono::milliseconds(200), [this] {
            return state_->released;
        });
    }
    void release() {
        const std::scoped_lock guard(state_->mutex);
        state_->released = true;
        state_->changed.notify_all();
    }

    [[nodiscard]] int running() const {
        const std::scoped_lock guard(state_->mutex);
        return static_cast<int>(state_->begun.size() - state_->ended.size());
    }

  private:
    struct State {
        std::mutex mutex;
        std::condition_variable changed;
        std::set<int> begun;
        std::set<int> ended;
        bool released = false;
        std::thread::id caller = std::this_thread::get_id();

        void add(std::set<int> State::*set, int number) {
            const std::scoped_lock guard(mutex);
            (this->*set).insert(number);
            changed.notify_all();
        }
    };

    // Nobody waits for ever: without the others a replica goes on after 3 s, and once that has happened
    // in this process, after 0.1 s.
    void wait(const std::function<bool(const State&)>& condition) {
        static std::atomic<bool> in_vain = false;
        const auto patience = std::chrono::milliseconds(in_vain ? 100 : 3000);
        std::unique_lock lock(state_->mutex);
        if (!state_->changed.wait_for(lock, patience, [&] { return condition(*state_); })) {
            in_vain = true;
        }
    }

    std::shared_ptr<State> state_;  // threads that are left behind have it as well
};

/// What n replicas make of numbered(n) that do this with their number, and then give it back.
at::Tensor by_replicas(int n, const std::function<void(int number)>& work) {
    static std::deque<ModelFunction> kept;  // for threads that a wrong answer leaves behind
    const ModelFunction& model =
        kept.emplace_back([work](std::span<const at::Tensor>, const at::Tensor& rows) {
            work(number_of(rows));
            return rows.clone();
        });
    return data_parallel(model, {}, numbered(n), n);
}

/// What comes out where n replicas do this with their number.
std::string thrown_of(int n, const std::function<void(int number)>& work) {
    const CrashMeans crash(
        "is an exception caught in the thread that throws it, and every std::thread joined? "
        "Otherwise std::terminate ends the program"
    );
    return thrown_by([&] { by_replicas(n, work); });
}

[[noreturn]] void fail(int number) {
    throw std::runtime_error(text("replica ", number, " fails"));
}

using Parameters = std::span<const at::Tensor>;

/// (B, 3) to (B, 2), by a weight (3, 2) and a bias (2).
at::Tensor layer(Parameters parameters, const at::Tensor& inputs) {
    return inputs.matmul(parameters[0]).add(parameters[1]).square();
}

/// w times each row: one parameter.
at::Tensor scaled(Parameters parameters, const at::Tensor& rows) {
    return rows.mul(parameters[0]);
}

at::Tensor leaf(std::vector<std::int64_t> shape, std::uint64_t salt) {
    return filled(shape, 0, salt).requires_grad_();
}

/// Weight, bias and inputs of layer(), which require gradients.
std::vector<at::Tensor> leaves(int rows) {
    return {leaf({3, 2}, 1), leaf({2}, 2), leaf({rows, 3}, 3)};
}

/// What is to come back for each row that layer() makes.
at::Tensor upstream(int rows) {
    return filled({rows, 2}, 0, 4);
}

/// The gradients of leaves() that the rows of `part` give, without data_parallel.
std::vector<std::vector<float>> gradients(int rows, const Chunk& part) {
    const auto begin = static_cast<std::int64_t>(part.begin);
    const auto size = static_cast<std::int64_t>(part.size());
    const auto all = leaves(rows);
    layer(all, all[2].narrow(0, begin, size)).backward(upstream(rows).narrow(0, begin, size));
    return {elements(all[0].grad()), elements(all[1].grad()), elements(all[2].grad())};
}

/// Calls backward if there is a way back.
Comparison goes_back(const at::Tensor& outputs, const at::Tensor& gradient) {
    if (outputs.requires_grad()) {
        outputs.backward(gradient);
    }
    return {
        outputs.requires_grad(),
        "the outputs require no gradient: autograd follows clone() back to the parameters, and "
        "ends at detach()"};
}

/// Whether backward has brought `tensor` this gradient.
Comparison gradient_is(
    const at::Tensor& tensor,
    const std::vector<float>& expected,
    const std::vector<Suspicion>& known = {}
) {
    if (!tensor.grad().defined()) {
        return {false, "no gradient came: is there a detach() on the way to it?"};
    }
    return same(elements(tensor.grad()), expected, 0.0, known);
}

/// Calls `body` for numbers of replicas, and of rows around each of them.
void every_batch(const std::function<void(int rows, int replicas)>& body) {
    on_ranks({1}, [&](const Communicator&) {
        for (const int replicas : {3, 1, 2, 4, 5, 11, 40}) {
            for (const int rows : {7, 1, 2, replicas - 1, replicas, replicas + 1, 64}) {
                INFO("rows: " << rows << ", replicas: " << replicas);
                if (rows >= 1) {
                    body(rows, replicas);
                }
            }
        }
    });
}

}  // namespace

TEST_CASE("two replicas of 2x make 2, 4 and 8 of 1, 2 and 4, and the gradient 7") {
    on_ranks({1}, [](const Communicator&) {
        const at::Tensor w = at::full({}, 2.0, at::kFloat).requires_grad_();
        const at::Tensor outputs = data_parallel(scaled, std::vector{w}, filled({3}, {1, 2, 4}), 2);
        INFO("The model is w x with w = 2: replica 0 has the rows 1 and 2, replica 1 has 4.");
        REQUIRE(same(
            elements(outputs), std::vector<float>{2, 4, 8}, 0.0,
            {{{8, 2, 4}, "replica 1's output stands before replica 0's"}}
        ));
        REQUIRE(goes_back(outputs.sum(), {}));
        CHECK(gradient_is(
            w, {7},
            {{{3}, "that is the gradient of replica 0's rows alone"},
             {{4}, "that is the gradient of replica 1's rows alone"},
             {{14}, "that is the gradient twice: once for each replica"},
             {{3.5}, "that is the mean of two gradients; they are parts of one, and are added"}}
        ));
    });
}

TEST_CASE("data_parallel gives what the model gives, and backward adds its gradient, once") {
    every_batch([](int rows, int replicas) {
        const auto all = leaves(rows);
        for (const at::Tensor& tensor : all) {
            tensor.mutable_grad() = at::full(tensor.sizes(), 1000.0, at::kFloat);
        }
        const auto outputs = data_parallel(layer, std::span(all).first(2), all[2], replicas);
        REQUIRE(outputs.sizes() == at::IntArrayRef({rows, 2}));
        REQUIRE(same(elements(outputs), elements(layer(all, all[2]))));
        REQUIRE(goes_back(outputs, upstream(rows)));

        const int p = std::min(rows, replicas);
        const auto n = static_cast<std::size_t>(rows);
        const auto whole = gradients(rows, {0, n});
        const auto first = gradients(rows, chunk_bounds(n, p, 0));
        const auto last = gradients(rows, chunk_bounds(n, p, p - 1));
        const auto plus = [](float before, std::vector<float> gradient, int times) {
            for (float& value : gradient) {
                value = before + static_cast<float>(times) * value;
            }
            return gradient;
        };
        for (std::size_t i = 0; i < all.size(); ++i) {
            INFO("gradient of the " << (i == 0 ? "weight" : i == 1 ? "bias" : "inputs"));
            REQUIRE(gradient_is(
                all[i], plus(1000, whole[i], 1),
                {{plus(1000, whole[i], 0), "that is what was there before: nothing was added"},
                 {plus(1000, first[i], 1), "that adds the gradient of replica 0's rows alone"},
                 {plus(1000, last[i], 1), "that adds the gradient of the last replica's alone"},
                 {plus(1000, whole[i], p), "the gradient was added once for each replica"},
                 {plus(0, whole[i], 1), "the gradient that was there before is lost"}}
            ));
        }
    });
}

TEST_CASE("data_parallel deals rows out as chunk_bounds does, one at least to each replica") {
    every_batch([](int rows, int replicas) {
        const int p = std::min(rows, replicas);
        std::multiset<std::string> expected;
        for (int r = 0; r < p; ++r) {
            const Chunk part = chunk_bounds(static_cast<std::size_t>(rows), p, r);
            expected.insert(text(part.begin, "-", part.end - 1));
        }
        std::mutex mutex;
        std::multiset<std::string> parts;
        const auto model = [&](Parameters, const at::Tensor& part) {
            const std::scoped_lock guard(mutex);
            const int first = number_of(part);
            parts.insert(text(first, "-", first + part.size(0) - 1));
            return part.clone();
        };
        data_parallel(model, {}, numbered(rows), replicas);
        INFO("the rows that the model was called with, and should be");
        REQUIRE(text(parts) == text(expected));
    });
}

TEST_CASE("data_parallel runs all replicas at the same time") {
    on_ranks({1}, [](const Communicator&) {
        for (const int n : {3, 2, 4, 5, 11}) {
            Replicas replicas;
            std::vector<int> seen(static_cast<std::size_t>(n));
            by_replicas(n, [&](int number) {
                replicas.begin(number);
                seen.at(static_cast<std::size_t>(number)) = replicas.wait_for_all(n);
            });
            INFO("Each replica waited for all others to begin, but not for ever.");
            INFO("Is a thread joined, or its result asked for, before the next one is started?");
            INFO("Or does a replica wait until one of a few threads is free?");
            const int fewest = *std::ranges::min_element(seen);
            INFO("only " << fewest << " of " << n << " replicas ran at the same time");
            REQUIRE(fewest == n);
        }
    });
}

TEST_CASE("data_parallel gathers in the order of the inputs, whoever is ready first") {
    on_ranks({1}, [](const Communicator&) {
        Replicas replicas;
        const at::Tensor outputs = by_replicas(4, [&](int number) {
            replicas.begin(number);
            if (number < 3) {
                replicas.wait_for_end_of(number + 1);
            }
        });
        INFO("Each replica waited until the one behind it had ended.");
        CHECK(same(
            elements(outputs), elements(numbered(4)), 0.0,
            {{{3, 2, 1, 0}, "that is the order in which the replicas were ready"}}
        ));
    });
}

TEST_CASE("what a replica writes into its copies reaches no other, and not the original") {
    on_ranks({1}, [](const Communicator&) {
        for (const int n : {3, 1, 2, 5}) {
            for (const bool trained : {false, true}) {
                Replicas replicas;
                const auto mean = at::full({1}, -1.0, at::kFloat).requires_grad_(trained);
                const auto model = [&](Parameters own, const at::Tensor& rows) {
                    replicas.begin(number_of(rows));
                    {
                        const c10::AutoGradMode unseen(false);
                        own[0].copy_(rows);
                    }
                    replicas.wait_for_all(n);
                    return own[0].clone();
                };
                const auto outputs = data_parallel(model, std::vector{mean}, numbered(n), n);
                std::vector<Suspicion> known;
                for (int r = 0; r < n; ++r) {
                    known.push_back(
                        {std::vector(static_cast<std::size_t>(n), static_cast<float>(r)),
                         "that was written by replica " + std::to_string(r)}
                    );
                }
                INFO("Each replica wrote its number into its copy, waited, and read it.");
                INFO("Replicas: " << n << ", and -1 is in the original.");
                CHECK(same(elements(outputs), elements(numbered(n)), 0.0, known));
                CHECK(same(elements(mean), std::vector<float>{-1}, 0.0, known));
            }
        }
    });
}

TEST_CASE("data_parallel records gradients where its caller does, and leaves its settings alone") {
    on_ranks({1}, [](const Communicator&) {
        const int threads = at::get_num_threads();
        at::set_num_threads(3);
        for (const bool on : {false, true}) {
            const c10::AutoGradMode mode(on);
            const auto w = at::full({}, 2.0, at::kFloat).requires_grad_();
            std::atomic<int> recording = 0;
            const auto model = [&](Parameters own, const at::Tensor& rows) {
                recording += c10::GradMode::is_enabled() ? 1 : 0;
                return rows.mul(own[0]);
            };
            const auto outputs = data_parallel(model, std::vector{w}, numbered(3), 3);
            INFO("The caller records gradients: " << (on ? "yes" : "no"));
            CHECK(outputs.requires_grad() == on);
            {
                INFO("data_parallel leaves its caller's settings as they are");
                CHECK(c10::GradMode::is_enabled() == on);
                CHECK(at::get_num_threads() == 3);
            }
            INFO("replicas that do: GradMode is a setting of each thread, and on in a new one");
            CHECK(recording == (on ? 3 : 0));
        }
        at::set_num_threads(threads);
    });
}

TEST_CASE("data_parallel throws what a replica throws, whichever it is") {
    on_ranks({1}, [](const Communicator&) {
        for (const int failing : {0, 1, 2, 3}) {
            const std::string thrown = thrown_of(4, [failing](int number) {
                if (number == failing) {
                    fail(number);
                }
            });
            REQUIRE(thrown == text("replica ", failing, " fails"));
        }
    });
}

TEST_CASE("data_parallel hands on what is no std::exception, and leaves the caller's settings") {
    on_ranks({1}, [](const Communicator&) {
        const CrashMeans crash(
            "a replica threw an int: what catches std::exception alone lets that pass, and it ends "
            "the program"
        );
        const int threads = at::get_num_threads();
        for (const Thrown what : {Thrown::error, Thrown::number}) {
            for (const bool on : {true, false}) {
                const c10::AutoGradMode mode(on);
                const Settings settings;
                at::set_num_threads(3);
                const std::string came_out = thrown_by([&] {
                    by_replicas(3, [&](int number) {
                        if (number == 1) {
                            raise(what);
                        }
                    });
                });
                INFO("replica 1 threw " << name_of(what));
                CHECK(came_out == name_of(what));
                CHECK(settings.unchanged());
                CHECK(at::get_num_threads() == 3);
            }
        }
        at::set_num_threads(threads);
    });
}

TEST_CASE("data_parallel throws only after all threads have ended") {
    on_ranks({1}, [](const Communicator&) {
        Replicas replicas;
        const auto work = [&](int number) {
            replicas.begin(number);
            replicas.wait_for_all(4);
            if (number == 0) {
                fail(number);
            }
            replicas.work();
        };
        const std::string thrown = thrown_of(4, work);
        const int running = replicas.running();
        replicas.release();
        CHECK(thrown == "replica 0 fails");
        INFO("others at work. What they work with may be gone as soon as the exception is out");
        CHECK(running == 0);
    });
}

TEST_CASE("of replicas that fail, the first in order is heard, not the first in time") {
    on_ranks({1}, [](const Communicator&) {
        Replicas replicas;
        const auto work = [&](int number) {
            replicas.begin(number);
            if (number == 1) {
                replicas.wait_for_end_of(2);
            }
            if (number == 1 || number == 2) {
                fail(number);
            }
        };
        INFO("Replicas 1 and 2 of four throw; 1 waits until the thread of 2 has ended.");
        CHECK(thrown_of(4, work) == "replica 1 fails");
    });
}

TEST_CASE("data_parallel refuses a batch without rows, and less than one replica, at once") {
    on_ranks({1}, [](const Communicator&) {
        std::atomic<int> calls = 0;
        const auto model = [&](Parameters, const at::Tensor& rows) {
            ++calls;
            return rows.clone();
        };
        CHECK_THROWS_AS(data_parallel(model, {}, numbered(0), 2), std::invalid_argument);
        CHECK_THROWS_AS(data_parallel(model, {}, numbered(3), 0), std::invalid_argument);
        CHECK_THROWS_AS(data_parallel(model, {}, numbered(3), -1), std::invalid_argument);
        INFO("arguments are looked at before any thread starts");
        CHECK(calls == 0);
    });
}

TEST_CASE("data_parallel takes tensors of any type and layout, and no parameters at all") {
    on_ranks({1}, [](const Communicator&) {
        const auto check = [](const ModelFunction& model, Parameters own, const at::Tensor& rows) {
            CHECK(identical(data_parallel(model, own, rows, 3), model(own, rows)));
        };
        const std::vector parameters = {filled({2, 3}, 0, 1).t().requires_grad_(), leaf({2}, 2)};
        const at::Tensor transposed = filled({3, 7}, 0, 3).t();
        const at::Tensor with_gaps = filled({7, 6}, 0, 3).slice(1, 0, 6, 2);
        check(layer, parameters, transposed);
        check(layer, parameters, with_gaps);
        const std::vector in_double = {
            parameters[0].to(at::kDouble), parameters[1].to(at::kDouble)};
        check(layer, in_double, transposed.to(at::kDouble));
        const auto look_up = [](Parameters own, const at::Tensor& words) {
            return own[0].index_select(0, words);
        };
        const at::Tensor words = numbered(7).to(at::kLong);
        check(look_up, std::vector{leaf({7, 2, 2}, 1)}, words);
        const auto square = [](Parameters, const at::Tensor& rows) { return rows.square(); };
        check(square, {}, numbered(7));
    });
}

TEST_CASE("parameters that require no gradient get none") {
    on_ranks({1}, [](const Communicator&) {
        const std::vector parameters = {filled({3, 2}, 0, 1), leaf({2}, 2)};
        const at::Tensor inputs = filled({7, 3}, 0, 3);
        const at::Tensor outputs = data_parallel(layer, parameters, inputs, 3);
        REQUIRE(goes_back(outputs, upstream(7)));
        CHECK(!parameters[0].grad().defined());
        CHECK(gradient_is(parameters[1], gradients(7, {0, 7})[1]));
        const std::vector frozen = {parameters[0], parameters[1].detach()};
        CHECK(!data_parallel(layer, frozen, inputs, 3).requires_grad());
    });
}

TEST_CASE("data_parallel copies the parameters in every call, and keeps no copy") {
    on_ranks({1}, [](const Communicator&) {
        const at::Tensor w = at::full({}, 2.0, at::kFloat).requires_grad_();
        std::mutex mutex;
        std::vector<WatchedMemory> copies;
        const auto model = [&](Parameters own, const at::Tensor& rows) {
            const std::scoped_lock guard(mutex);
            copies.emplace_back(own[0]);
            return rows.mul(own[0]);
        };
        {
            const at::Tensor inputs = filled({3}, {1, 2, 4});
            const at::Tensor first = data_parallel(model, std::vector{w}, inputs, 2);
            {
                const c10::AutoGradMode unseen(false);
                w.fill_(5);  // an optimizer's step
            }
            const at::Tensor second = data_parallel(model, std::vector{w}, inputs, 2);
            CHECK(same(
                elements(second), std::vector<float>{5, 10, 20}, 0.0,
                {{{2, 4, 8}, "the parameter was 2 in the call before, and is 5 in this one"}}
            ));
            CHECK(same(elements(first), std::vector<float>{2, 4, 8}));
        }
        const auto held = std::ranges::count_if(copies, [](const WatchedMemory& copy) {
            return !copy.is_gone();
        });
        INFO("copies that are still in memory after the outputs are gone");
        CHECK(held == 0);
    });
}

TEST_CASE("data_parallel takes one copy of the parameters for each replica, and no more memory") {
    on_ranks({1}, [](const Communicator&) {
        constexpr std::size_t kN = 100'000;
        const at::Tensor w = at::full({kN}, 2.0, at::kFloat).requires_grad_();
        const auto model = [](Parameters own, const at::Tensor& rows) {
            return rows.mul(own[0].select(0, 0));
        };
        for (const int replicas : {3, 1}) {
            const MemoryBefore before;
            forget_peak();
            data_parallel(model, std::vector{w}, filled({3}, {1, 2, 4}), replicas);
            INFO("replicas: " << replicas << "; vectors count as tensors do");
            CHECK(before.peak_since() <= 4 * kN * replicas + 1000);
        }
    });
}

TEST_CASE("a replica may run data_parallel itself") {
    on_ranks({1}, [](const Communicator&) {
        for (const int replicas : {1, 2, 3}) {
            const auto all = leaves(7);
            const auto model = [](Parameters own, const at::Tensor& rows) {
                return data_parallel(layer, own, rows, 2);
            };
            const auto outputs = data_parallel(model, std::span(all).first(2), all[2], replicas);
            INFO("each of " << replicas << " replicas splits its rows once more, in two");
            REQUIRE(same(elements(outputs), elements(layer(all, all[2]))));
            REQUIRE(goes_back(outputs, upstream(7)));
            CHECK(gradient_is(all[0], gradients(7, {0, 7})[0]));
        }
    });
}
