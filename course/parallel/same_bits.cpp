#include "course/parallel/same_bits.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include <mpi.h>

#include "course/parallel/stop.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/seeded.hpp"

namespace dist::trainer {

void expect_same_bits(
    std::span<const at::Tensor> weights,
    std::size_t done,
    const std::string& author,
    const Communicator& comm
) {
    std::uint64_t mine = 0;
    for (const at::Tensor& tensor : weights) {
        const at::Tensor data = tensor.detach().cpu().contiguous();
        const std::string_view bytes(static_cast<const char*>(data.data_ptr()), data.nbytes());
        mine = seeded_bits(mine, std::hash<std::string_view>()(bytes));
    }
    std::vector<std::uint64_t> all(static_cast<std::size_t>(comm.size()));
    MPI_CHECK(MPI_Allgather(&mine, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, comm.handle()));
    const auto other =
        std::ranges::find_if(all, [&](std::uint64_t bits) { return bits != all[0]; });
    if (other != all.end()) {
        constexpr int kWentWrong = 1;
        throw Stop(
            "after step " + std::to_string(done) + " rank " + std::to_string(other - all.begin()) +
                " has other weights than rank 0: " + author +
                ", or what it stands on, did not give all ranks the same",
            kWentWrong
        );
    }
}

}  // namespace dist::trainer
