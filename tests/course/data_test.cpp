// The reader of CIFAR-10's format, the synthetic set, and what the network sees of a picture.
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <numeric>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include "course/data/augment.hpp"
#include "course/data/cifar10.hpp"
#include "course/data/synthetic.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::data;

namespace {

std::string problem(const std::string& bytes) {
    std::istringstream in(bytes);
    PictureSet pictures;
    try {
        pictures.append(in, "data_batch_1.bin");
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return "";
}

bool starts_with(const std::string& text, const std::string& start) {
    return text.rfind(start, 0) == 0;
}

}  // namespace

TEST_CASE("a record is read as a label and three planes of 32 x 32 bytes", "[data]") {
    std::string record(kRecordBytes, '\0');
    record[0] = 7;
    record[1] = 11;                          // red, upper left
    record[1 + 1024] = 22;                   // green, upper left
    record.back() = static_cast<char>(255);  // blue, lower right
    std::istringstream in(record + record);
    PictureSet pictures;
    pictures.append(in, "file");
    REQUIRE(pictures.size() == 2);
    CHECK(pictures.label(1) == 7);
    CHECK(pictures.picture(1)[0] == 11);
    CHECK(pictures.picture(1)[1024] == 22);
    CHECK(pictures.picture(1)[3071] == 255);
}

TEST_CASE("a file that is cut off is refused, naming file and record", "[data]") {
    const std::string three = synthetic_records(3, 1);
    const std::string text = problem(three.substr(0, three.size() - 1));
    CHECK(starts_with(text, "data_batch_1.bin: cut off in record 2, after 3072 of its 3073 bytes"));
}

TEST_CASE("a label above nine is refused, naming file and record", "[data]") {
    std::string three = synthetic_records(3, 1);
    three[kRecordBytes] = 10;
    CHECK(starts_with(problem(three), "data_batch_1.bin: record 1 has the label 10"));
}

TEST_CASE("a folder that is not there is refused by name", "[data]") {
    std::string text;
    try {
        read_cifar10("/nowhere");
    } catch (const std::runtime_error& error) {
        text = error.what();
    }
    CHECK(starts_with(text, "data: there is no folder /nowhere; give one that holds CIFAR-10's"));
}

TEST_CASE("the synthetic set is fixed by its seed, and as large as asked for", "[data]") {
    CHECK(synthetic_records(20, 1) == synthetic_records(20, 1));
    CHECK(synthetic_records(20, 1) != synthetic_records(20, 2));
    const Dataset data = synthetic_dataset(30, 20, 1);
    CHECK(data.synthetic);
    CHECK(data.train.size() == 30);
    CHECK(data.test.size() == 20);
    CHECK(data.train.label(9) == 9);
}

TEST_CASE("a view moves and mirrors a picture, and lets black in at the edges", "[data]") {
    std::vector<std::uint8_t> picture(kPictureBytes, 255);
    picture[0] = 0;  // black: red, upper left
    std::vector<float> out(kPictureBytes);
    const float white = (1 - 0.4914F) / 0.2470F;
    const float black = -0.4914F / 0.2470F;
    write_view(picture, {}, out);
    CHECK(out[0] == Approx(black));
    CHECK(out[1] == Approx(white));
    write_view(picture, {.down = 2, .right = 3}, out);
    CHECK(out[1 * 32 + 5] == Approx(black));  // came in from above
    CHECK(out[2 * 32 + 2] == Approx(black));  // came in from the left
    CHECK(out[2 * 32 + 3] == Approx(black));  // the black one itself
    CHECK(out[2 * 32 + 4] == Approx(white));
    write_view(picture, {.mirrored = true}, out);
    CHECK(out[0] == Approx(white));
    CHECK(out[31] == Approx(black));
}

TEST_CASE(
    "random views use every place, both directions, and nothing but their numbers", "[data]"
) {
    std::vector<int> down(9);
    std::vector<int> right(9);
    int mirrored = 0;
    for (std::uint64_t picture = 0; picture < 9000; ++picture) {
        const View view = random_view(1, 2, picture);
        ++down.at(static_cast<std::size_t>(view.down) + 4);
        ++right.at(static_cast<std::size_t>(view.right) + 4);
        mirrored += view.mirrored ? 1 : 0;
    }
    for (std::size_t place = 0; place < 9; ++place) {  // 1000 each, give or take five deviations
        CHECK(std::abs(down[place] - 1000) < 150);
        CHECK(std::abs(right[place] - 1000) < 150);
    }
    CHECK(std::abs(mirrored - 4500) < 240);
    const View view = random_view(1, 2, 3);
    const View again = random_view(1, 2, 3);
    CHECK((view.down == again.down && view.right == again.right && view.mirrored == again.mirrored)
    );
}

TEST_CASE("real pictures are read", "[.][real]") {
    const char* const given = std::getenv("SHARDLINGS_CIFAR10");
    const std::filesystem::path folder =
        given != nullptr ? given : SHARDLINGS_SOURCE "/../shared/data/cifar-10-batches-bin";
    if (!std::filesystem::exists(folder)) {
        std::cout << "skipped: no real pictures; SHARDLINGS_CIFAR10 may name their folder"
                  << std::endl;
        _exit(77);  // what CTest counts as skipped
    }
    const Dataset data = read_cifar10(folder);
    CHECK_FALSE(data.synthetic);
    CHECK(data.train.size() >= 5000);
    CHECK(data.test.size() >= 1000);
    // the mean of all red bytes is what they are normalised by
    double red = 0;
    for (std::size_t i = 0; i < data.train.size(); ++i) {
        const auto plane = data.train.picture(i).first(1024);
        red += std::accumulate(plane.begin(), plane.end(), 0.0) / 1024 / 255;
    }
    CHECK(red / static_cast<double>(data.train.size()) == Approx(0.4914).margin(0.01));
}
