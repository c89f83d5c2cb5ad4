#include "course/nn/rows.hpp"

#include <c10/core/StorageImpl.h>
#include <string>

#include "course/nn/memory.hpp"
#include "course/runtime/error.hpp"

namespace dist::nn {

namespace {

c10::StorageImpl& storage_of(const at::Tensor& row) {
    return *row.storage().unsafeGetStorageImpl();
}

void set_storage(const at::Tensor& row, std::size_t bytes) {
    c10::StorageImpl& storage = storage_of(row);
    if (storage.nbytes() != bytes) {
        storage.set_data_ptr_noswap(storage.allocator()->allocate(bytes));
        storage.set_nbytes(bytes);
    }
}

}  // namespace

std::span<float> floats(const at::Tensor& row) {
    return {row.data_ptr<float>(), static_cast<std::size_t>(row.numel())};
}

void free_storage(const at::Tensor& row) {
    set_storage(row, 0);
}

void alloc_storage(const at::Tensor& row) {
    const MemoryScope scope(MemoryKind::parameters);
    set_storage(row, row.nbytes());
}

bool has_storage(const at::Tensor& row) {
    return storage_of(row).nbytes() == row.nbytes();
}

void expect_trainable(std::span<const at::Tensor> parameters, const char* who) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const auto expect = [&](bool condition, const std::string& otherwise) {
            const std::string which = std::string(who) + ": parameter " + std::to_string(i) + " ";
            expects(condition, (which + otherwise).c_str());
        };
        expect(parameters[i].scalar_type() == at::kFloat, "is not in float32");
        expect(parameters[i].is_leaf(), "is no leaf");
        expect(parameters[i].requires_grad(), "requires no gradient: it is frozen");
        for (std::size_t j = 0; j < i; ++j) {
            expect(
                !parameters[i].is_same(parameters[j]),
                "is parameter " + std::to_string(j) + " once more"
            );
        }
    }
}

}  // namespace dist::nn
