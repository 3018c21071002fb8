#include "sim/core/registry.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "sim/core/error.h"

namespace weft {
namespace {

class Shape {
 public:
  virtual ~Shape() = default;
};
class Square final : public Shape {};

std::unique_ptr<Shape> make_square(ParamReader&) { return std::make_unique<Square>(); }

const Registration<Shape> kSquare{.name = "square", .summary = "four equal sides", .make = make_square};
const Registration<Shape> kCircle{.name = "circle", .summary = "no side", .make = make_square};
const Registration<Shape> kTriangle{.name = "triangle", .summary = "three sides", .make = make_square};

Registry<Shape> shapes() {
  static const Registration<Shape>* const entries[] = {&kSquare, &kTriangle, &kCircle};
  return Registry<Shape>{"shape", entries};
}

TEST(RegistryTest, FindsByExactName) {
  const auto registry = shapes();
  EXPECT_EQ(registry.find("square"), &kSquare);
  EXPECT_EQ(registry.find("circle"), &kCircle);
  EXPECT_EQ(registry.find("Square"), nullptr);
  EXPECT_EQ(registry.find("squar"), nullptr);
  EXPECT_EQ(registry.find(""), nullptr);
}

TEST(RegistryTest, ListsInOrderOfNames) {
  const auto registry = shapes();
  EXPECT_EQ(std::vector<std::string>(registry.names().begin(), registry.names().end()),
            (std::vector<std::string>{"circle", "square", "triangle"}));
  ASSERT_EQ(registry.entries().size(), 3U);
  EXPECT_EQ(registry.entries()[0]->summary, "no side");
  EXPECT_EQ(registry.kind(), "shape");
}

TEST(RegistryTest, AnErrorNamesTheNearestAndAllChoices) {
  const auto registry = shapes();
  EXPECT_EQ(registry.unknown("sqaure"), "unknown shape 'sqaure'");
  EXPECT_EQ(registry.note("sqaure"), "did you mean 'square'? choices: circle, square, triangle");
  EXPECT_EQ(registry.note("zzz"), "choices: circle, square, triangle");
}

TEST(RegistryTest, RefusesTwoEntriesOfOneName) {
  const Registration<Shape> again{.name = "square", .summary = "the same again", .make = make_square};
  const Registration<Shape>* const entries[] = {&kSquare, &again};
  EXPECT_THROW((Registry<Shape>{"shape", entries}), InternalError);
}

TEST(RegistryTest, RefusesAnEntryThatCannotBeMade) {
  const Registration<Shape> empty{.name = "point", .summary = "nothing to it"};
  const Registration<Shape>* const entries[] = {&empty};
  EXPECT_THROW((Registry<Shape>{"shape", entries}), InternalError);
}

}  // namespace
}  // namespace weft
