// Batches that are cut out of a data set on a device, here the CPU.
#include "course/trainer/device_pictures.hpp"

#include <sstream>
#include <vector>

#include "course/data/synthetic.hpp"
#include "course/trainer/batch.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist;

TEST_CASE("a device cuts and augments the batches of the host, bit for bit", "[trainer]") {
    data::PictureSet pictures;
    std::istringstream records(data::synthetic_records(200, 1));
    pictures.append(records, "synthetic");
    const trainer::DevicePictures on_device(pictures, at::kCPU);
    const std::vector<std::size_t> numbers = {199, 0, 7, 7, 100, 31};
    for (std::uint64_t epoch = 0; epoch < 20; ++epoch) {
        std::vector<data::View> views;
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            views.push_back(data::random_view(epoch, i, numbers[i]));
        }
        views[0] = {.down = -4, .right = 4, .mirrored = epoch % 2 == 0};  // to the edges
        std::size_t next = 0;
        const nn::Batch wanted =
            trainer::make_batch(pictures, numbers, [&](std::size_t) { return views[next++]; });
        const nn::Batch batch = on_device.batch(numbers, views);
        CHECK(batch.inputs.equal(wanted.inputs));
        CHECK(batch.labels.equal(wanted.labels));
    }
}
