#include "course/trainer/snapshot.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>

#include <mpi.h>

#include "course/parallel/together.hpp"
#include "course/runtime/error.hpp"
#include "course/trainer/options.hpp"

namespace dist::trainer {

namespace fs = std::filesystem;

namespace {

/// What a snapshot has beside its tensors, as JSON: the run, its steps, and what the tensors are. Its length is the extra
/// of the snapshot: of another one nobody knows how many bytes to ask for.
std::string description_of(
    const std::string& run, const Steps& steps, const std::vector<StatePart>& parts
) {
    nlohmann::json text = {
        {"run", run}, {"all_steps", steps.all}, {"tensors", nlohmann::json::object()}};
    for (const StatePart& part : parts) {
        text["tensors"][part.name] = {
            {"dtype", static_cast<int>(part.data.scalar_type())}, {"shape", part.shape}};
    }
    return text.dump();
}

/// A view.
nn::TensorPart part_of(std::string& description) {
    const auto n = static_cast<std::int64_t>(description.size());
    return {"description", n, 0, at::from_blob(description.data(), {n}, at::kByte)};
}

std::int64_t elements_of(const StatePart& part) {
    std::int64_t n = 1;
    for (const std::int64_t length : part.shape) {
        n *= length;
    }
    return n;
}

Checkpoint read_snapshot(const fs::path& folder, const Communicator& comm) {
    std::int64_t length = 0;
    const auto extra = std::as_writable_bytes(std::span(&length, 1));
    load_snapshot(folder, {}, extra, comm);
    std::string description(static_cast<std::size_t>(length), ' ');
    load_snapshot(folder, std::vector{part_of(description)}, extra, comm);

    const auto text = nlohmann::json::parse(description);
    Checkpoint saved;
    saved.run = text.at("run");
    saved.steps.all = text.at("all_steps");
    std::vector<nn::TensorPart> wanted;
    for (const auto& [name, what] : text.at("tensors").items()) {
        const std::vector<std::int64_t> shape = what.at("shape");
        const auto dtype = static_cast<at::ScalarType>(what.at("dtype").get<int>());
        const at::Tensor tensor = at::empty(shape, dtype);
        wanted.push_back({name, tensor.numel(), 0, tensor.view(-1)});
        saved.state[name] = tensor;
    }
    saved.steps.done = static_cast<std::size_t>(load_snapshot(folder, wanted, extra, comm));
    return saved;
}

Saved look_at(const fs::path& folder) {
    const bool has_parts = exists(file_of(Saved::in_parts, folder));
    const bool has_file = exists(file_of(Saved::in_a_file, folder));
    if (!has_parts || !has_file) {
        return has_parts ? Saved::in_parts : has_file ? Saved::in_a_file : Saved::nothing;
    }
    const auto index = nn::read_tensor_file(file_of(Saved::in_parts, folder)).numbers;
    const auto step = static_cast<std::size_t>(index.at("step"));
    return step >= read_checkpoint(folder).steps.done ? Saved::in_parts : Saved::in_a_file;
}

}  // namespace

void take_snapshot(
    Snapshots& snapshots,
    const std::string& run,
    const Steps& steps,
    const std::vector<StatePart>& parts,
    const Communicator& comm
) {
    std::string description;
    std::vector<nn::TensorPart> own;
    if (comm.rank() == 0) {
        description = description_of(run, steps, parts);
        own.push_back(part_of(description));
    }
    for (const StatePart& part : parts) {
        if (part.data.numel() > 0) {
            own.push_back({part.name, elements_of(part), part.begin, part.data});
        }
    }
    const auto length = static_cast<std::int64_t>(description.size());
    const auto extra = std::as_bytes(std::span(&length, 1));
    snapshots.take(static_cast<std::int64_t>(steps.done), own, extra);
}

Saved find_saved(const fs::path& folder, const Communicator& comm) {
    auto saved = static_cast<int>(Saved::nothing);
    together(comm, [&] {
        if (comm.rank() == 0) {
            saved = static_cast<int>(look_at(folder));
        }
    });
    MPI_CHECK(MPI_Bcast(&saved, 1, MPI_INT, 0, comm.handle()));
    return static_cast<Saved>(saved);
}

fs::path file_of(Saved saved, const fs::path& folder) {
    return saved == Saved::in_parts ? snapshot_file(folder) : checkpoint_file(folder);
}

Checkpoint read_saved(Saved saved, const fs::path& folder, const Communicator& comm) {
    return saved == Saved::in_parts ? read_snapshot(folder, comm) : read_checkpoint(folder);
}

}  // namespace dist::trainer
