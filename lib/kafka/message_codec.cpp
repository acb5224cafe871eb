#include "lib/kafka/message_codec.h"

#include <charconv>
#include <chrono>
#include <format>
#include <nlohmann/json.hpp>
#include <sstream>

namespace outrigger::kafka {
namespace {

using Json = nlohmann::json;
using participant::Command;
using participant::Reply;

constexpr std::string_view kJsonText = "outrigger.saga.v1.JsonText";
constexpr std::string_view kReply = "outrigger.saga.v1.Reply";
constexpr std::string_view kSource = "/outrigger/sagas";
constexpr std::string_view kContentType = "application/avro";

std::string format_time(WallTime time) { return std::format("{:%FT%T}Z", time); }

Result<WallTime> parse_time(std::string_view text) {
  std::istringstream stream{std::string(text)};
  WallTime time;
  if (std::chrono::from_stream(stream, "%FT%TZ", time); stream.fail() || stream.peek() != std::istringstream::traits_type::eof()) {
    return fail(ErrorCode::kInvalidArgument, std::format("header {}: '{}' is not a time in RFC 3339, UTC", header::kDeadline, text));
  }
  return time;
}

/// Reads headers; the first that is missing or malformed is the error.
class HeaderReader {
 public:
  explicit HeaderReader(const ReceivedRecord& record) : record_(record) {}

  std::string text(std::string_view name) {
    const auto value = record_.header(name);
    if (!value || value->empty()) {
      note(std::format("header {} is missing", name));
      return {};
    }
    return std::string(*value);
  }

  std::string optional_text(std::string_view name) const { return std::string(record_.header(name).value_or("")); }

  std::uint32_t number(std::string_view name) {
    const auto value = text(name);
    std::uint32_t number = 0;
    if (const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), number);
        problem != std::errc{} || end != value.data() + value.size()) {
      note(std::format("header {}: '{}' is not a number", name, value));
    }
    return number;
  }

  template <class T>
  T read(Result<T> parsed) {
    if (!parsed) {
      note(parsed.error().message);
      return {};
    }
    return *parsed;
  }

  [[nodiscard]] std::optional<Error> problem() const {
    return problem_.empty() ? std::nullopt : std::optional(Error{ErrorCode::kInvalidArgument, problem_, record_.position()});
  }

 private:
  void note(std::string what) {
    if (problem_.empty()) {
      problem_ = std::move(what);
    }
  }

  const ReceivedRecord& record_;
  std::string problem_;
};

template <class Message>
void read_identity(HeaderReader& headers, Message& message) {
  message.saga_id = headers.text(header::kSagaId);
  message.partition = headers.number(header::kSagaPartition);
  message.step = headers.text(header::kSagaStep);
  message.direction = headers.read(participant::parse_direction(headers.text(header::kSagaDirection)));
  message.attempt = headers.number(header::kSagaAttempt);
  message.traceparent = headers.optional_text(header::kTraceparent);
}

Headers identity_headers(const Command& command, std::string_view id_suffix, std::string type, std::string_view traceparent) {
  const auto key = command.idempotency_key();
  Headers headers{{std::string(header::kSpecVersion), "1.0"},
                  {std::string(header::kId), std::format("{}/{}{}", key, command.attempt, id_suffix)},
                  {std::string(header::kSource), std::string(kSource)},
                  {std::string(header::kType), std::move(type)},
                  {std::string(header::kContentType), std::string(kContentType)},
                  {std::string(header::kSagaId), command.saga_id},
                  {std::string(header::kSagaPartition), std::to_string(command.partition)},
                  {std::string(header::kSagaStep), command.step},
                  {std::string(header::kSagaDirection), std::string(name(command.direction))},
                  {std::string(header::kSagaAttempt), std::to_string(command.attempt)},
                  {std::string(header::kIdempotencyKey), key}};
  if (!traceparent.empty()) {
    headers.emplace_back(header::kTraceparent, traceparent);
  }
  return headers;
}

Result<Json> parse_json(std::string_view text, std::string_view what) {
  auto parsed = Json::parse(text, nullptr, false);
  if (parsed.is_discarded()) {
    return fail(ErrorCode::kInvalidArgument, std::format("{} is not JSON", what));
  }
  return parsed;
}

}  // namespace

MessageCodec::MessageCodec(const contracts::SchemaRegistry& registry, std::string package) : registry_(registry), package_(std::move(package)) {}

Result<OutgoingRecord> MessageCodec::encode(const Command& command, std::string_view reply_topic) const {
  const auto own = std::format("{}.{}", package_, command.type);
  const bool has_own = registry_.find(own) != nullptr;
  auto value = has_own ? registry_.encode(own, command.payload)
                       : registry_.encode(kJsonText, Json{{"json", command.payload}}.dump(-1, ' ', false, Json::error_handler_t::replace));
  if (!value) {
    return fail(value.error().code, value.error().message, std::format("command {} of {}", command.type, command.idempotency_key()));
  }
  OutgoingRecord record{.topic = command.destination,
                        .partition = static_cast<std::int32_t>(command.partition),
                        .key = command.saga_id,
                        .value = std::move(*value),
                        .headers = identity_headers(command, "", command.type, command.traceparent)};
  record.headers.emplace_back(header::kReplyTo, reply_topic);
  record.headers.emplace_back(header::kDeadline, format_time(command.deadline));
  return record;
}

Result<Command> MessageCodec::decode_command(const ReceivedRecord& record) const {
  HeaderReader headers(record);
  Command command;
  read_identity(headers, command);
  command.type = headers.text(header::kType);
  command.destination = record.topic;
  command.deadline = headers.read(parse_time(headers.text(header::kDeadline)));
  if (auto problem = headers.problem()) {
    return std::unexpected(std::move(*problem));
  }
  auto decoded = registry_.decode(record.value.value_or(""));
  if (!decoded) {
    return fail(decoded.error().code, decoded.error().to_string(), record.position());
  }
  if (decoded->schema == kJsonText) {
    command.payload = Json::parse(decoded->json).at("json").get<std::string>();
  } else if (decoded->schema == std::format("{}.{}", package_, command.type)) {
    command.payload = std::move(decoded->json);
  } else {
    return fail(ErrorCode::kInvalidArgument, std::format("{} is {}, but the record was written as {}", header::kType, command.type, decoded->schema),
                record.position());
  }
  return command;
}

Result<OutgoingRecord> MessageCodec::encode(const Reply& reply, const Command& command, std::string_view topic) const {
  const auto own = std::format("{}.{}Reply", package_, command.type);
  const bool has_own = registry_.find(own) != nullptr;
  Json document{{"outcome", name(reply.outcome)}, {"reason", reply.reason}};
  if (reply.retry_after) {
    document["retry_after_ms"] = reply.retry_after->count();
  }
  if (!reply.output.empty() && has_own) {
    auto output = parse_json(reply.output, "the output");
    if (!output) {
      return std::unexpected(output.error());
    }
    document["output"] = std::move(*output);
  } else if (!reply.output.empty()) {
    document["output"] = reply.output;
  }
  auto value = registry_.encode(has_own ? std::string_view(own) : kReply, document.dump(-1, ' ', false, Json::error_handler_t::replace));
  if (!value) {
    return fail(value.error().code, value.error().message, std::format("reply to {} of {}", command.type, command.idempotency_key()));
  }
  return OutgoingRecord{.topic = std::string(topic),
                        .partition = static_cast<std::int32_t>(reply.partition),
                        .key = reply.saga_id,
                        .value = std::move(*value),
                        .headers = identity_headers(command, "/reply", command.type + "Reply", reply.traceparent)};
}

Result<Reply> MessageCodec::decode_reply(const ReceivedRecord& record) const {
  HeaderReader headers(record);
  Reply reply;
  read_identity(headers, reply);
  if (auto problem = headers.problem()) {
    return std::unexpected(std::move(*problem));
  }
  auto decoded = registry_.decode(record.value.value_or(""));
  if (!decoded) {
    return fail(decoded.error().code, decoded.error().to_string(), record.position());
  }
  const auto document = Json::parse(decoded->json);
  if (!document.is_object() || !document.contains("outcome") || !document["outcome"].is_string()) {
    return fail(ErrorCode::kInvalidArgument, std::format("{} is no reply: it has no outcome", decoded->schema), record.position());
  }
  auto outcome = participant::parse_outcome(document["outcome"].get<std::string>());
  if (!outcome) {
    return fail(outcome.error().code, outcome.error().message, record.position());
  }
  reply.outcome = *outcome;
  if (const auto output = document.find("output"); output != document.end() && !output->is_null()) {
    reply.output = decoded->schema == kReply ? output->get<std::string>() : output->dump();
  }
  if (const auto reason = document.find("reason"); reason != document.end() && reason->is_string()) {
    reply.reason = reason->get<std::string>();
  }
  if (const auto after = document.find("retry_after_ms"); after != document.end() && after->is_number_integer()) {
    reply.retry_after = std::chrono::milliseconds(after->get<std::int64_t>());
  }
  return reply;
}

}  // namespace outrigger::kafka
