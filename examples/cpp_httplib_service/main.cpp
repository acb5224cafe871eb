// A small catalogue of documents, written for cpp-httplib: path parameters, regular expressions, uploads, downloads, a login and an
// error page. It moved to Outrigger's engine by the two lines that README.md shows.
#include <charconv>
#include <cstdio>
#include <thread>

#include "lib/http/cpp_httplib/server.h"
#include "lib/runtime/lifecycle.h"

#include "examples/cpp_httplib_service/documents.h"

namespace {

using ServerType = outrigger::http::cpp_httplib::Server;
using HandlerResponse = ServerType::HandlerResponse;

constexpr const char* kToken = "Bearer let-me-in";

void add_documents(ServerType& server, Documents& documents) {
  server.Get("/documents", [&](const httplib::Request& request, httplib::Response& response) {
    response.set_content(documents.list(request.get_param_value("prefix")), "text/plain");
  });
  server.Get("/documents/:name", [&](const httplib::Request& request, httplib::Response& response) {
    const auto content = documents.find(request.path_params.at("name"));
    if (!content) {
      response.status = 404;
      return;
    }
    // In pieces, as it would come from a disk or another server.
    response.set_content_provider(content->size(), "text/plain",
                                  [content = *content](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
                                    return sink.write(content.data() + offset, std::min<std::size_t>(length, 4'096));
                                  });
  });
  server.Put("/documents/:name", [&](const httplib::Request& request, httplib::Response& response, const httplib::ContentReader& content_reader) {
    std::string content;
    const bool is_whole = content_reader([&](const char* data, std::size_t size) {
      content.append(data, size);
      return true;
    });
    if (is_whole) {
      response.status = documents.store(request.path_params.at("name"), std::move(content)) ? 201 : 204;
    }
  });
  server.Delete(R"(/documents/([\w.-]+))", [&](const httplib::Request& request, httplib::Response& response) {
    response.status = documents.remove(request.matches[1]) ? 204 : 404;
  });
  server.Post("/uploads", [&](const httplib::Request& request, httplib::Response& response) {
    for (const auto& [field, file] : request.files) {
      if (!file.filename.empty()) {
        documents.store(file.filename, file.content);
      }
    }
    response.set_redirect("/documents", 303);
  });
}

void add_manners(ServerType& server) {
  server.set_payload_max_length(1U << 20U);
  server.set_default_headers({{"X-Content-Type-Options", "nosniff"}});
  server.set_pre_routing_handler([](const httplib::Request& request, httplib::Response& response) {
    if (request.method == "GET" || request.get_header_value("Authorization") == kToken) {
      return HandlerResponse::Unhandled;
    }
    response.status = 401;
    response.set_header("WWW-Authenticate", "Bearer");
    return HandlerResponse::Handled;
  });
  server.set_error_handler([](const httplib::Request& request, httplib::Response& response) {
    response.set_content("error " + std::to_string(response.status) + " at " + request.path + "\n", "text/plain");
  });
}

}  // namespace

int main(int argc, char** argv) {
  int port = 0;
  const std::string_view wanted = argc > 1 ? argv[1] : "8081";
  if (std::from_chars(wanted.data(), wanted.data() + wanted.size(), port).ec != std::errc{}) {
    std::fprintf(stderr, "usage: cpp_httplib_service [PORT]   (0: any free port; it is printed)\n");
    return 2;
  }
  outrigger::StopSignal stop;
  Documents documents;
  ServerType server;
  add_documents(server, documents);
  add_manners(server);
  if (port == 0) {
    port = server.bind_to_any_port("127.0.0.1");
  } else if (!server.bind_to_port("127.0.0.1", port)) {
    port = -1;
  }
  if (port < 0) {
    std::fprintf(stderr, "the port cannot be bound\n");
    return 1;
  }
  std::printf("%d\n", port);
  std::fflush(stdout);
  std::thread listener([&] { server.listen_after_bind(); });
  server.wait_until_ready();
  stop.wait();
  server.stop();
  listener.join();
}
