// What broadcast_parameters must do: the root's numbers everywhere, in the tensors that were there.
#include "exercises/05_data_parallel/broadcast_parameters.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "course/protocol/counted.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/patterns.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/tensors.hpp"
#include "tests/harness/words/zoo.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid({"collectives"}, "This exercise stands on your own broadcast, of chapter 02.");

/// 35 leaves, seven of each shape, different on every rank.
std::vector<at::Tensor> model(int rank) {
    std::vector<at::Tensor> parameters;
    for (std::size_t i = 0; i < 7 * kShapes.size(); ++i) {
        parameters.push_back(filled(kShapes[i % kShapes.size()], rank, i).requires_grad_());
    }
    return parameters;
}

/// Is `tensor` the root's, that was filled(shape, root, salt)? Says whose numbers it holds if not.
Comparison from_root(
    const at::Tensor& tensor, int root, const Communicator& comm, std::uint64_t salt
) {
    const std::size_t n = count(tensor);
    std::vector<Suspicion> known = {
        {input(n, comm.rank(), salt),
         "that is what this rank had before: nothing came from the root, rank " +
             std::to_string(root)}};
    known.push_back(
        {reduced_input(n, comm.size(), ReduceOp::mean, salt),
         "that is the mean of all ranks; only the root's numbers count"}
    );
    for (int rank = 0; rank < comm.size(); ++rank) {
        known.push_back(
            {input(n, rank, salt), "that is rank " + std::to_string(rank) +
                                       "'s number; the root is " + std::to_string(root)}
        );
    }
    return same(elements(tensor), input(n, root, salt), 0.0, known);
}

/// What models hold beside float32: counters, flags, half and double precision. No two ranks have the same
/// byte anywhere but in the flags, and most do not fill a float at their end.
std::vector<at::Tensor> of_every_dtype(int rank) {
    std::vector<at::Tensor> tensors;
    for (const auto& [dtype, n] : std::vector<std::pair<at::ScalarType, std::int64_t>>{
             {at::kLong, 1},
             {at::kLong, 3},
             {at::kInt, 2},
             {at::kShort, 3},
             {at::kByte, 7},
             {at::kBool, 5},
             {at::kDouble, 3},
             {at::kHalf, 1},
             {at::kBFloat16, 3},
             {at::kFloat, 2}}) {
        const at::Tensor tensor = at::empty({n}, dtype);
        auto* const bytes = static_cast<std::uint8_t*>(tensor.data_ptr());
        for (std::size_t i = 0; i < tensor.nbytes(); ++i) {
            const std::size_t bits =
                static_cast<std::size_t>(rank) + (dtype == at::kBool ? i : 5 * i + 1);
            bytes[i] = static_cast<std::uint8_t>(dtype == at::kBool ? bits % 2 : bits);
        }
        tensors.push_back(tensor);
    }
    return tensors;
}

/// Is `tensor` number i of the root's of_every_dtype()? To the bit, whatever number that is.
Comparison bits_of_root(std::size_t i, const at::Tensor& tensor, int root, int rank) {
    const auto equal = [&](const at::Tensor& other, std::size_t bytes) {
        return std::memcmp(tensor.data_ptr(), other.data_ptr(), bytes) == 0;
    };
    const at::Tensor expected = of_every_dtype(root)[i];
    std::string text = "it has not the root's bits";
    if (equal(expected, tensor.nbytes())) {
        return {true, ""};
    }
    if (equal(of_every_dtype(rank)[i], tensor.nbytes())) {
        text += ": they are those that this rank had before; nothing came from the root, rank " +
                std::to_string(root);
    } else if (equal(expected, tensor.nbytes() / 4 * 4)) {
        text += " in its last bytes, which do not fill a float";
    } else if (equal(expected.to(at::kFloat).to(expected.dtype()), tensor.nbytes())) {
        text +=
            ", as if they had come by way of a float: float has no room for so large a number, "
            "or so exact a one";
    }
    return {false, text};
}

/// Tensors of every dtype that can be written to, on each rank in the same layout or in one of its own.
std::vector<Resident> writable_zoo(int rank, Strides strides) {
    return zoo(
        {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kLong, at::kChar, at::kBool,
         at::kComplexFloat},
        rank, 0, strides, {Layout::contiguous, Layout::transposed, Layout::with_gaps}
    );
}

/// The root's bits in all of them, where they were, and nothing else.
void gives_the_roots_bits(Strides strides, int root, const Communicator& comm) {
    const std::vector<Resident> mine = writable_zoo(comm.rank(), strides);
    const std::vector<Resident> before = writable_zoo(comm.rank(), strides);
    const std::vector<Resident> expected = writable_zoo(root, strides);
    std::vector<const void*> places;
    for (const Resident& resident : mine) {
        places.push_back(resident.tensor.data_ptr());
    }
    broadcast_parameters(tensors_of(mine), root, comm);
    for (std::size_t i = 0; i < mine.size(); ++i) {
        const at::Tensor& tensor = mine[i].tensor;
        INFO("tensor " << i << ", here " << mine[i].name << ", at the root " << expected[i].name);
        CHECK(identical(
            tensor, expected[i].tensor,
            {{before[i].tensor,
              "those this rank had before: what arrives in the copy must get back"}}
        ));
        {
            INFO("The gaps belong to somebody else: they must stay as they were.");
            CHECK((around(tensor) == around(before[i].tensor)));
        }
        INFO("It lies somewhere else now: an optimizer, or a view, goes on with the old numbers.");
        CHECK(tensor.data_ptr() == places[i]);
    }
}

/// For the harness's patterns: data is one parameter.
const Attempt kAttempt{
    .name = "broadcast_parameters",
    .takes = {.root = true},
    .before = contribution,
    .call =
        [](Buffers& b, const Call& call, const Communicator& comm) {
            const auto n = static_cast<std::int64_t>(call.n);
            const at::Tensor parameter = filled({n}, b.data).requires_grad_();
            broadcast_parameters(std::vector{parameter}, call.root, comm);
            b.data = elements(parameter);
        },
    .outcome =
        [](const Buffers& b, const Call& call, const Communicator&) {
            return same(b.data, input(call.n, call.root, call.salt));
        }};

/// The root's numbers on every rank of these worlds, from every root.
void gives_the_roots_numbers(const std::vector<int>& worlds) {
    on_ranks(worlds, [](const Communicator& comm) {
        for (int root = 0; root < comm.size(); ++root) {
            const auto parameters = model(comm.rank());
            broadcast_parameters(parameters, root, comm);
            for (std::size_t i = 0; i < parameters.size(); ++i) {
                INFO("parameter " << i << ", root " << root);
                CHECK(from_root(parameters[i], root, comm, i));
            }
        }
    });
}

}  // namespace

TEST_CASE("broadcast_parameters gives every rank the root's numbers, from every root") {
    gives_the_roots_numbers({3, 1, 2, 4, 5});
}

TEST_CASE("broadcast_parameters takes tensors of any dtype, bit for bit") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        const int root = comm.size() - 1;
        const auto tensors = of_every_dtype(comm.rank());
        broadcast_parameters(tensors, root, comm);
        for (std::size_t i = 0; i < tensors.size(); ++i) {
            INFO("a tensor of " << tensors[i].numel() << " " << tensors[i].dtype().name());
            CHECK(bits_of_root(i, tensors[i], root, comm.rank()));
        }
    });
}

TEST_CASE("broadcast_parameters writes into the tensors that are there") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const auto parameters = model(comm.rank());
        std::vector<const float*> memory;
        for (const at::Tensor& parameter : parameters) {
            memory.push_back(parameter.data_ptr<float>());
        }
        broadcast_parameters(parameters, 1, comm);
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            INFO(
                "parameter " << i
                             << " lies somewhere else now: an optimizer, or a view, that was "
                                "made before goes on with the old numbers"
            );
            CHECK(parameters[i].data_ptr<float>() == memory[i]);
        }
    });
}

TEST_CASE("broadcast_parameters takes tensors in any layout, on each rank in another one") {
    on_ranks({3, 2, 1}, [](const Communicator& comm) {
        INFO("The elements in memory order are not the elements in the tensor's order.");
        gives_the_roots_bits(Strides::alike, 0, comm);
        gives_the_roots_bits(Strides::differ, comm.size() - 1, comm);
    });
}

TEST_CASE("broadcast_parameters is not seen by autograd") {
    on_ranks({2}, [](const Communicator& comm) {
        for (const bool contiguous : {true, false}) {
            INFO(
                "a tensor that requires a gradient and is" << (contiguous ? "" : " not")
                                                           << " contiguous"
            );
            const at::Tensor numbers = filled({3, 4}, comm.rank(), 0);
            const at::Tensor weight = (contiguous ? numbers : numbers.t()).requires_grad_();
            broadcast_parameters(std::vector{weight}, 0, comm);
            INFO("a parameter stays a leaf that requires a gradient, or it can no longer be trained"
            );
            CHECK(weight.requires_grad());
            CHECK(weight.is_leaf());
            CHECK_FALSE(weight.grad().defined());
            if (weight.requires_grad()) {
                weight.square().sum().backward();
                std::vector<float> twice = elements(weight);
                scale(twice, 2.0F);
                CHECK(same(elements(weight.grad()), twice));
            }
        }
    });
}

TEST_CASE("broadcast_parameters changes numbers, and nothing else") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        auto parameters = model(comm.rank());
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            parameters[i].requires_grad_(i % 3 != 0);  // the others are frozen
            if (i % 2 == 0) {
                parameters[i].mutable_grad() = filled(parameters[i].sizes(), comm.rank(), 1000 + i);
            }
        }
        const auto on_the_root = as_now(parameters);
        broadcast_parameters(parameters, 1, comm);
        if (comm.rank() == 1) {
            INFO("the root's own");
            CHECK(on_the_root());
        }
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            INFO("parameter " << i << (i % 3 != 0 ? ", which is trained" : ", which is frozen"));
            CHECK(parameters[i].requires_grad() == (i % 3 != 0));
            const at::Tensor gradient =
                i % 2 == 0 ? filled(parameters[i].sizes(), comm.rank(), 1000 + i) : at::Tensor();
            INFO("its gradient stays this rank's own");
            CHECK(identical(parameters[i].grad(), gradient));
        }
    });
}

TEST_CASE("broadcast_parameters lets only the root send, and each tensor once to each rank") {
    on_ranks({1, 2, 3, 4, 5}, [](const Communicator& comm) {
        const int root = comm.size() / 2;
        const long copies = comm.rank() == root ? comm.size() - 1 : 0;
        for (const auto& tensors : {model(comm.rank()), of_every_dtype(comm.rank())}) {
            std::size_t floats = 0;  // each tensor made up to a whole number of them
            for (const at::Tensor& tensor : tensors) {
                floats += (tensor.nbytes() + sizeof(float) - 1) / sizeof(float);
            }
            const Traffic traffic =
                record(comm, [&] { broadcast_parameters(tensors, root, comm); });
            INFO("rank " << comm.rank() << "; the root is " << root);
            INFO(tensors.size() << " tensors, the first of " << tensors[0].dtype().name());
            CHECK(within(
                traffic, {.messages_sent = at_most(copies * static_cast<long>(tensors.size())),
                          .bytes_sent = at_most(copies * float_bytes(floats))}
            ));
        }
    });
}

TEST_CASE("broadcast_parameters refuses a root that is no rank of comm") {
    on_ranks({1, 3}, [](const Communicator& comm) {
        const std::vector<at::Tensor> none;
        for (const int root : {-1, comm.size(), comm.size() + 3}) {
            for (const auto& parameters : {model(comm.rank()), none}) {
                const std::string what = "root " + std::to_string(root) + " of " +
                                         counted(comm.size(), "rank") + ", " +
                                         counted(parameters.size(), "parameter");
                refuses(
                    comm, what, [&] { broadcast_parameters(parameters, root, comm); },
                    as_now(parameters)
                );
            }
        }
    });
}

TEST_CASE("broadcast_parameters takes ranks from the communicator it is given") {
    on_other_communicators(kAttempt);
}

TEST_CASE("broadcast_parameters throws dist::Error if a message fails") {
    reports_failures(kAttempt);
}

TEST_CASE("after a message has failed every parameter still requires a gradient, and has its own") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const c10::AutoGradMode on(true);
        const auto parameters = model(comm.rank());
        std::vector<at::Tensor> gradients;
        for (const at::Tensor& parameter : parameters) {
            gradients.push_back(at::zeros(parameter.sizes()));
            parameter.mutable_grad() = gradients.back();
        }
        {
            const FailingMessages failing;
            answer(comm, [&] { broadcast_parameters(parameters, 0, comm); });
        }
        const bool recording = c10::GradMode::is_enabled();
        c10::GradMode::set_enabled(true);
        INFO("The exception passed by the line that switches on again what was off.");
        CHECK(recording);
        CHECK(std::ranges::all_of(parameters, [](const at::Tensor& parameter) {
            return parameter.requires_grad();
        }));
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            INFO("its gradient stays, parameter " << i << "'s");
            CHECK(parameters[i].grad().is_same(gradients[i]));
        }
    });
}

TEST_CASE("broadcast_parameters is right on 11 ranks", "[many]") {
    gives_the_roots_numbers({11});
}
