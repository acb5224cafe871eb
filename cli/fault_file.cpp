#include "cli/fault_file.h"

#include <chrono>
#include <cmath>
#include <format>
#include <limits>

#include <nlohmann/json.hpp>

#include "lib/runtime/duration.h"
#include "lib/yaml/node.h"
#include "lib/yaml/reader.h"
#include "outrigger/sidecar/admin/v1/fault.pb.h"

namespace outrigger::cli {
namespace {

namespace api = ::outrigger::sidecar::admin::v1;
using Json = nlohmann::ordered_json;

void set(google::protobuf::Duration& to, std::chrono::nanoseconds from) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(from);
  to.set_seconds(seconds.count());
  to.set_nanos(static_cast<std::int32_t>((from - seconds).count()));
}

std::string text(const google::protobuf::Duration& duration) {
  return format_duration(std::chrono::seconds{duration.seconds()} + std::chrono::nanoseconds{duration.nanos()});
}

std::string text(const google::protobuf::Timestamp& time) {
  const std::chrono::sys_time<std::chrono::milliseconds> moment{std::chrono::seconds{time.seconds()} +
                                                                std::chrono::milliseconds{time.nanos() / 1'000'000}};
  return std::format("{:%FT%T}Z", moment);
}

void read_match(const yaml::Node& node, yaml::Problems& problems, api::Match& match) {
  yaml::Mapping mapping(node, problems, "match");
  auto& http = *match.mutable_http();
  if (const yaml::Node* protocol = mapping.require("http")) {
    yaml::Mapping inner(*protocol, problems, "http");
    http.set_method(inner.get_choice("method", "", {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}));
    http.set_path_prefix(inner.get_text("pathPrefix"));
    for (const auto& [name, value] : inner.get_map("headers")) {
      (*http.mutable_headers())[name] = value;
    }
    inner.finish();
  }
  mapping.finish();
}

void read_trigger(const yaml::Node& node, yaml::Problems& problems, api::Trigger& trigger) {
  yaml::Mapping mapping(node, problems, "trigger");
  const yaml::Node* percent = mapping.find("percent");
  if (const yaml::Node* ppm = mapping.find("percentPpm")) {
    trigger.set_percent_ppm(static_cast<std::uint32_t>(mapping.get_integer("percentPpm", 1'000'000, 0, 1'000'000)));
    if (percent != nullptr) {
      mapping.problem(*ppm, "percent says the same: keep one of them");
    }
  } else if (percent != nullptr) {
    const auto read = yaml::as_text(*percent).and_then([](const std::string& value) { return parse_percent(value); });
    if (read) {
      trigger.set_percent_ppm(*read);
    } else {
      mapping.problem(*percent, read.error().message);
    }
  }
  trigger.set_seed(static_cast<std::uint64_t>(mapping.get_integer("seed", 0, 0, std::numeric_limits<std::int64_t>::max())));
  mapping.finish();
}

void read_action(const yaml::Node& node, yaml::Problems& problems, api::Fault& fault) {
  yaml::Mapping mapping(node, problems, "action");
  const yaml::Node* delay = mapping.find("delay");
  const yaml::Node* abort = mapping.find("abort");
  if ((delay == nullptr) == (abort == nullptr)) {
    mapping.problem(node, "an action is one of delay and abort, e.g. {delay: {fixed: 300ms}} or {abort: {status: 503}}");
  } else if (delay != nullptr) {
    yaml::Mapping inner(*delay, problems, "delay");
    set(*fault.mutable_delay()->mutable_fixed(), inner.get_duration("fixed", {}));
    if (const auto jitter = inner.get_duration("jitter", {}); jitter.count() > 0) {
      set(*fault.mutable_delay()->mutable_jitter(), jitter);
    }
    inner.finish();
  } else {
    yaml::Mapping inner(*abort, problems, "abort");
    if (inner.require("status") != nullptr) {
      fault.mutable_abort()->set_status(static_cast<std::uint32_t>(inner.get_integer("status", 503, 400, 599)));
    }
    inner.finish();
  }
  mapping.finish();
}

api::Fault read_fault(const yaml::Node& document, yaml::Problems& problems) {
  api::Fault fault;
  yaml::Mapping mapping(document, problems);
  fault.set_id(mapping.require_text("id"));
  fault.set_reason(mapping.get_text("reason"));
  set(*fault.mutable_ttl(), mapping.require_duration("ttl"));
  if (const yaml::Node* match = mapping.require("match")) {
    read_match(*match, problems, *fault.mutable_match());
  }
  if (const yaml::Node* trigger = mapping.find("trigger")) {
    read_trigger(*trigger, problems, *fault.mutable_trigger());
  }
  if (const yaml::Node* action = mapping.require("action")) {
    read_action(*action, problems, fault);
  }
  for (const auto* key : {"hits", "skipped", "createTime", "expireTime"}) {
    mapping.allow(key);
  }
  mapping.finish();
  return fault;
}

}  // namespace

Result<std::uint32_t> parse_percent(std::string_view text) {
  const auto wrong = [&] {
    return fail(ErrorCode::kInvalidArgument,
                std::format("'{:.40}' is no percentage: write 0 to 100 with at most four decimals, e.g. 25 or 0.5%", text));
  };
  std::string_view digits = text.ends_with('%') ? text.substr(0, text.size() - 1) : text;
  // By hand: a percentage of parts per million is exact in decimal, not in binary.
  std::uint64_t ppm = 0;
  int decimals = -1;
  bool has_digit = false;
  for (const char c : digits) {
    if (c == '.' && decimals < 0) {
      decimals = 0;
    } else if (c >= '0' && c <= '9' && decimals < 4 && ppm <= 1'000'000) {
      ppm = ppm * 10 + static_cast<std::uint64_t>(c - '0');
      decimals += decimals >= 0 ? 1 : 0;
      has_digit = true;
    } else {
      return wrong();
    }
  }
  for (int i = std::max(decimals, 0); i < 4; ++i) {
    ppm *= 10;
  }
  if (!has_digit || ppm > 1'000'000) {
    return wrong();
  }
  return static_cast<std::uint32_t>(ppm);
}

Result<std::vector<api::Fault>> read_faults(std::string_view yaml, std::string_view file) {
  const auto documents = yaml::parse_documents(yaml, file);
  if (!documents) {
    return std::unexpected(documents.error());
  }
  yaml::Problems problems;
  std::vector<api::Fault> faults;
  for (const auto& document : *documents) {
    const yaml::Node* listed = document.find("faults");
    if (listed == nullptr) {
      faults.push_back(read_fault(document, problems));
      continue;
    }
    for (const auto& item : listed->items) {
      faults.push_back(read_fault(item, problems));
    }
    yaml::Mapping listing(document, problems, "a listing");
    listing.allow("faults");
    listing.finish();
  }
  if (faults.empty()) {
    problems.add(std::string(file), "holds no fault");
  }
  if (auto good = problems.result(); !good) {
    return std::unexpected(good.error());
  }
  return faults;
}

Json to_json(const api::Fault& fault) {
  Json http = Json::object();
  if (!fault.match().http().method().empty()) {
    http["method"] = fault.match().http().method();
  }
  if (!fault.match().http().path_prefix().empty()) {
    http["pathPrefix"] = fault.match().http().path_prefix();
  }
  for (const auto& [name, value] : fault.match().http().headers()) {
    http["headers"][name] = value;
  }
  Json json{{"id", fault.id()}, {"reason", fault.reason()}, {"ttl", text(fault.ttl())}, {"match", {{"http", http}}}};
  json["trigger"] = {{"percentPpm", fault.trigger().percent_ppm()}, {"seed", fault.trigger().seed()}};
  if (fault.has_delay()) {
    json["action"]["delay"]["fixed"] = text(fault.delay().fixed());
    if (fault.delay().has_jitter()) {
      json["action"]["delay"]["jitter"] = text(fault.delay().jitter());
    }
  } else {
    json["action"]["abort"]["status"] = fault.abort().status();
  }
  json["hits"] = fault.hits();
  json["skipped"] = fault.skipped();
  json["createTime"] = text(fault.create_time());
  json["expireTime"] = text(fault.expire_time());
  return json;
}

}  // namespace outrigger::cli
