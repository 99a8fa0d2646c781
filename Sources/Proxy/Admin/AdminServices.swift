/// What the admin port shows that the proxy itself doesn't know: settings as they were written, and what becomes of a
/// sample. Called on the main loop; none of it may wait for anything.
public struct AdminServices {
    /// A setting in effect.
    public struct Setting: Sendable {
        public var key: String
        /// As settings write it; a secret stands as the place it came from.
        public var value: String
        /// `default`, or where it was written.
        public var origin: String

        public init(key: String, value: String, origin: String) {
            self.key = key
            self.value = value
            self.origin = origin
        }
    }

    /// All settings in effect.
    public struct Settings: Sendable {
        public var general: [Setting]
        /// In the order of matching.
        public var routes: [(name: String, settings: [Setting])]

        public init(general: [Setting], routes: [(name: String, settings: [Setting])]) {
            self.general = general
            self.routes = routes
        }
    }

    /// A body that is to be explained.
    public struct Sample: Sendable {
        public var route: String
        public var body: [UInt8]
        /// Nil: the type that the route takes.
        public var type: String?
        /// Nil: the first one that the route takes.
        public var method: String?
        public var path: String?
        public var query: String?
        /// `Name: value` each.
        public var headers: [String]
        public var wantsJSON: Bool
        /// Whether only where fields went is wanted, without the values of the head that the upstream would see.
        public var wantsMovesOnly = false
        /// The status of a response that the body is; nil: it is a request's.
        public var responseStatus: Int?
    }

    /// A body that a route got.
    public struct Body: Sendable {
        /// Its Content-Type.
        public var type: String
        public var bytes: [UInt8]
    }

    /// What came of it.
    public struct Explanation: Sendable {
        public var status: Int
        public var text: String

        public init(status: Int, text: String) {
            self.status = status
            self.text = text
        }
    }

    /// What says where each field of a sample goes, on whatever thread.
    public typealias Explainer = @Sendable (Sample) -> Explanation
    /// What answers an object in JSON with another one, on whatever thread.
    public typealias Attempt = @Sendable ([UInt8]) -> Explanation
    /// What makes a proposal for a route of bodies as those that it got, on whatever thread.
    public typealias Lesson = @Sendable (_ route: String, _ bodies: [Body]) -> Explanation

    public var settings: () -> Settings
    /// What explains samples by the settings as they are now. It takes long, so that no loop waits for it.
    public var explain: () -> Explainer
    /// The settings that were read last are in effect now.
    public var adopted: () -> Void
    /// As above, what answers what the console wants to try.
    public var tryOut: () -> Attempt
    /// As above, what proposes what a route is to do, as an object in JSON, or says why not.
    public var learn: () -> Lesson
    /// What a conversion can say, as an object in JSON.
    public var options: () -> String
    /// The end of a message about a word that isn't one of those that are known: what may be meant.
    public var hint: (_ word: String, _ known: [String]) -> String

    public init(
        settings: @escaping () -> Settings, explain: @escaping () -> Explainer,
        adopted: @escaping () -> Void = {},
        tryOut: @escaping () -> Attempt = {
            { _ in .init(status: 501, text: "{\"status\":501,\"error\":\"nothing can be tried here\"}\n") }
        },
        learn: @escaping () -> Lesson = { { _, _ in .init(status: 501, text: "nothing is learnt here") } },
        options: @escaping () -> String = { "{\"encodings\":[]}\n" },
        hint: @escaping (String, [String]) -> String = { "known are \($1.joined(separator: ", "))" }
    ) {
        self.settings = settings
        self.explain = explain
        self.adopted = adopted
        self.tryOut = tryOut
        self.learn = learn
        self.options = options
        self.hint = hint
    }
}
