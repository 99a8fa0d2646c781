internal import EventLoop
internal import Gateway

extension SpoolFault {
    init(_ failure: TemporaryFile.Failure) {
        self = failure.isFull ? .full : .failed
    }
}
