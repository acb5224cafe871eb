#include "lib/contracts/registry.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace outrigger::contracts {
namespace {

Schema schema(std::string_view json) {
  auto parsed = Schema::parse(json, "test");
  EXPECT_TRUE(parsed) << parsed.error().to_string();
  return *parsed;
}

constexpr std::string_view kFirst = R"({"type":"record","name":"a.Thing","fields":[{"name":"n","type":"int"}]})";
constexpr std::string_view kSecond =
    R"({"type":"record","name":"a.Thing","fields":[{"name":"n","type":"int"},{"name":"m","type":"int","default":7}]})";

TEST(Registry, WritesMagicAndLittleEndianFingerprint) {
  SchemaRegistry registry;
  ASSERT_TRUE(registry.add(schema(kFirst)));
  const auto record = registry.encode("a.Thing", R"({"n":1})");
  ASSERT_TRUE(record) << record.error().to_string();
  EXPECT_EQ(record->substr(0, 2), "\xC3\x01");
  std::uint64_t fingerprint = 0;
  for (unsigned i = 0; i < 8; ++i) {
    fingerprint |= static_cast<std::uint64_t>(static_cast<std::uint8_t>((*record)[2 + i])) << (8 * i);
  }
  EXPECT_EQ(fingerprint, rabin_fingerprint(R"({"name":"a.Thing","type":"record","fields":[{"name":"n","type":"int"}]})"));
  EXPECT_EQ(record->substr(10), "\x02");
}

TEST(Registry, ReadsOldVersionsAndWritesTheNewest) {
  SchemaRegistry registry;
  ASSERT_TRUE(registry.add(schema(kFirst)));
  const auto old_record = *registry.encode("a.Thing", R"({"n":1})");
  ASSERT_TRUE(registry.add(schema(kSecond)));
  const auto new_record = *registry.encode("a.Thing", R"({"n":1})");
  EXPECT_EQ(registry.decode(old_record)->json, R"({"n":1})");
  EXPECT_EQ(registry.decode(new_record)->json, R"({"m":7,"n":1})");
  EXPECT_EQ(registry.decode(new_record)->schema, "a.Thing");
}

TEST(Registry, TellsUnknownFromDamaged) {
  SchemaRegistry registry;
  EXPECT_EQ(registry.decode("").error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(registry.decode(R"({"json":"is not Avro"})").error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(registry
                .decode(std::string("\xC3\x01"
                                    "12345678",
                                    10))
                .error()
                .code,
            ErrorCode::kNotFound);
  EXPECT_EQ(registry.encode("a.Thing", "{}").error().code, ErrorCode::kNotFound);
}

TEST(Registry, LoadsAFolderAndNamesTheFileThatIsWrong) {
  const auto folder = std::filesystem::path(testing::TempDir()) / ("contracts" + std::to_string(getpid()));
  std::filesystem::create_directories(folder / "v1");
  std::ofstream(folder / "v1" / "thing.avsc") << kFirst;
  SchemaRegistry registry;
  ASSERT_TRUE(registry.add_folder(folder));
  EXPECT_NE(registry.find("a.Thing"), nullptr);
  std::ofstream(folder / "v1" / "wrong.avsc") << R"({"type":"record"})";
  const auto again = registry.add_folder(folder);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().context, (folder / "v1" / "wrong.avsc").string());
  std::filesystem::remove_all(folder);
  EXPECT_EQ(registry.add_folder(folder).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace outrigger::contracts
