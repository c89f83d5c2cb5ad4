#include "course/parallel/whole_model.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include <mpi.h>

#include <torch/utils.h>

#include "course/parallel/device.hpp"
#include "course/parallel/optimizer.hpp"
#include "course/parallel/stop.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/seeded.hpp"
#include "exercises/05_data_parallel/broadcast_parameters.hpp"

namespace dist::trainer {

namespace {

/// Parameters and buffers, by the names that they have in a checkpoint.
StateDict all_tensors(const nn::Model& model) {
    StateDict all;
    for (const auto& tensors : {model.named_parameters(), model.named_buffers()}) {
        for (const auto& tensor : tensors) {
            all[model_name(tensor.key())] = tensor.value();
        }
    }
    return all;
}

}  // namespace

WholeModel::WholeModel(
    const ParallelOptions& options,
    std::shared_ptr<nn::Model> model,
    const Communicator& comm,
    std::string author
)
    : comm_(comm),
      model_(std::move(model)),
      parameters_(model_->parameters()),
      author_(std::move(author)) {
    // every replica was made with weights of its own; from here on they are rank 0's
    broadcast_parameters(parameters_, 0, comm_);
    model_->to(device_of(options, comm_.rank()));  // the parameters stay the same ones
}

void WholeModel::prepare_for_backward(const at::Tensor& /*loss*/) {}

at::Tensor WholeModel::forward(const at::Tensor& inputs) {
    return model_->forward(inputs);
}

void WholeModel::expect_equal(std::size_t done) const {
    std::uint64_t mine = 0;
    for (const at::Tensor& parameter : parameters_) {
        const at::Tensor data = parameter.detach().cpu().contiguous();
        const std::string_view bytes(static_cast<const char*>(data.data_ptr()), data.nbytes());
        mine = seeded_bits(mine, std::hash<std::string_view>()(bytes));
    }
    std::vector<std::uint64_t> all(static_cast<std::size_t>(comm_.size()));
    MPI_CHECK(MPI_Allgather(&mine, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, comm_.handle()));
    const auto other =
        std::ranges::find_if(all, [&](std::uint64_t bits) { return bits != all[0]; });
    if (other != all.end()) {
        constexpr int kWentWrong = 1;
        throw Stop(
            "after step " + std::to_string(done) + " rank " + std::to_string(other - all.begin()) +
                " has other weights than rank 0: " + author_ +
                ", or what it stands on, did not give all ranks the same",
            kWentWrong
        );
    }
}

StateDict WholeModel::state_dict() const {
    StateDict state = all_tensors(*model_);
    for (auto& [name, tensor] : state) {
        // to be read without a GPU as well; and no part of a row
        tensor = tensor.cpu().contiguous().clone();
    }
    return state;
}

void WholeModel::load_state_dict(const StateDict& state) {
    const torch::NoGradGuard no_grad;
    for (const auto& [name, tensor] : all_tensors(*model_)) {
        tensor.copy_(state.at(name));
    }
}

}  // namespace dist::trainer
